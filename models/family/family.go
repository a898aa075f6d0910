// Package family describes how a checkpoint of each architecture becomes a [spec.Spec] and its
// weights: the names in config.json, the names of the tensors, and what is special about the
// architecture. A family is data; it does not compute.
//
//	values := map[string]any{}
//	decoder := json.NewDecoder(file) // of config.json
//	decoder.UseNumber()
//	if err := decoder.Decode(&values); err != nil {
//		return err
//	}
//	f, s, err := family.Read(family.NewConfig("config.json", values))
//	if err != nil {
//		return err
//	}
//	load, err := f.Loader("model.safetensors", tensors, s) // tensors is a *checkpoint.File
//
// The spec and the loader are what transformer.New needs. Package models does all of this for a
// directory.
//
// # Parts
//
//   - [Family] is one architecture: how to read its configuration, and a table of [Weight] entries.
//     Each entry names the tensor that holds a parameter of [spec.Spec.Params], and its [Layout].
//   - [Config] reads config.json. It remembers which keys were read, and keeps the first error.
//   - [Lookup] finds the family of a configuration, [Read] also its spec, and [Names] lists all.
//   - [Family.Loader] checks all tensors at once, and then reads them one at a time.
//
// # Errors
//
// An error names the file, the key with its value, and what is allowed. It means one of these:
//
//   - The architecture is unknown: the error lists those that are supported.
//   - A key has a value that is not supported, or the reference implementation reads it and the
//     family does not. A key that the reference does not read is ignored, with a remark in
//     [spec.Spec.Remarks]; reference.tsv lists those that it reads.
//   - Two keys contradict each other, or a size exceeds its limit.
//   - A tensor is missing, has another shape than the configuration says, or would be ignored.
//
// # Adding a family
//
// Write one file with a [Family] that [Register] is called with from init; bloom.go is a typical
// one. Read sizes with [Config.Size], so that errors name their keys. What the arithmetic does
// differently is a field of the spec. Then record a golden from the reference implementation, and
// test the family against it with modeltest.Family. Add its model_type to reference_keys.py: for a
// family that is not in reference.tsv, every key must be read but those that change no number of
// any model, such as torch_dtype.
package family

import (
	"errors"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/registry"
	"github.com/headwater-ml/headwater/models/spec"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("family")

// Family is one architecture.
type Family struct {
	// Name is the model_type of config.json.
	Name string
	// Architectures are the names under the key architectures of config.json that the family
	// covers. With a name that ends in Model it covers the classifiers of that name too, such as
	// BertForSequenceClassification with BertModel.
	Architectures []string
	// ModelTypes are further values of model_type that go with these architectures.
	ModelTypes []string
	// Spec reads the configuration. It reads every key that it understands from c and returns an
	// error for values that are not supported.
	Spec func(c *Config) (*spec.Spec, error)
	// Weights maps parameters to tensors, with %d for the layer. A checkpoint may have several
	// tensors for one parameter if they are equal; the first of them is read.
	Weights []Weight
	// Unused returns whether a model with that spec does not read a tensor of Weights that the
	// checkpoint may have: the head of another task, or a bias that the head does not add. If
	// Unused is nil, there is no such tensor.
	Unused func(s *spec.Spec, tensor string) bool
	// OwnHead reports whether a head that differs from the embedding is the model's own, whatever
	// tie_word_embeddings is: transformers 5 writes true for every T5.
	OwnHead bool
	// OwnSource reports whether source and target have an embedding each if the head is not tied
	// and the two in the file differ: transformers 5 ties all of them or none (BART).
	OwnSource bool
	// Prefixes may come before every tensor name. The first one with which the embedding is found
	// is used. Without any, names have none.
	Prefixes []string
	// Packed is how tensors of Weights may be quantised, as quantization_config has it, in upper
	// case: MXFP4, or "" for no way.
	Packed string
	// Padding are the ids of padding tokens if config.json names none.
	Padding []int
	// Buffers are ends of the names of tensors that are not weights. Such tensors are ignored.
	Buffers []string
}

// Weight is the tensor that a parameter comes from.
type Weight struct {
	Param, Tensor string
	Layout        Layout
}

var families = registry.Registry[*Family]{Kind: "family: family", Underscores: true}

// Register makes a family known under its name. It panics if f or its Spec is nil, if the name does
// not consist of lower-case words joined by underscores, or if another family has the name or an
// architecture. Families may share a model type: a classifier has that of the language model.
func Register(f *Family) {
	if f == nil || f.Spec == nil {
		panic("family: Register of a nil family, or of one without a Spec")
	}
	for _, old := range registered() {
		for _, name := range f.Architectures {
			if slices.Contains(old.Architectures, name) {
				panic("family: " + f.Name + ": " + old.Name + " has the architecture " + name)
			}
		}
	}
	families.Register(f.Name, f)
}

// hasType reports whether a value of model_type goes with the family.
func (f *Family) hasType(model any) bool {
	name, _ := model.(string)
	return slices.Contains(f.modelTypes(), name)
}

// modelTypes returns all values of model_type that go with the family.
func (f *Family) modelTypes() []string { return append([]string{f.Name}, f.ModelTypes...) }

// Names returns the names of all families, sorted.
func Names() []string { return families.Names() }

// registered returns all families, sorted by name.
func registered() []*Family {
	var all []*Family
	for _, name := range Names() {
		if f, err := families.Lookup(name); err == nil {
			all = append(all, f)
		}
	}
	return all
}

// Lookup returns the family of a configuration. It goes by the key architectures or, if that is
// missing, by model_type. It returns an error that lists the supported architectures if it knows
// neither, and an error if architectures and model_type belong to different families.
func Lookup(c *Config) (*Family, error) {
	c = c.text()
	architectures := c.Strings("architectures")
	model := c.String("model_type", "")
	if err := c.firstErr(); err != nil {
		return nil, err
	}
	names := "architectures [" + firstOf(len(architectures), 3,
		func(i int) string { return shown(architectures[i]) }) + "]"
	all := registered()
	for _, f := range all {
		switch {
		case len(architectures) == 0 && slices.Contains(f.modelTypes(), model):
			return f, nil
		case !slices.ContainsFunc(architectures,
			f.covers):
		case model != "" && !slices.Contains(f.modelTypes(), model):
			// The reference implementation goes by model_type, so it would build another model.
			return nil, pkg.Errorf("%s: model_type is %s; it must be %q to go with %s",
				c.file, shown(model), f.Name, names)
		default:
			return f, nil
		}
	}
	return nil, unknown(c.file, architectures, model, names)
}

// unknown returns the error for a configuration of no family: it names the head that a known family
// does not have, or else all families.
func unknown(file string, architectures []string, model, names string) error {
	var all, known []string
	for _, f := range registered() {
		all = append(all, f.modelTypes()...)
		if slices.Contains(f.modelTypes(), model) {
			known = append(known, f.Architectures...)
		}
	}
	switch {
	case len(architectures) == 0:
		return pkg.Errorf("%s: key architectures is missing or empty, and model_type %s "+
			"is not supported; supported are %s", file, shown(model), strings.Join(all, ", "))
	case known != nil:
		for _, h := range classHeads {
			known = append(known, "…"+h.suffix)
		}
		return pkg.Errorf("%s: the head of %s is not supported for model_type %s; "+
			"supported are %s", file, names, shown(model), strings.Join(known, ", "))
	}
	return pkg.Errorf("%s: %s (model_type %s) is not supported; supported are %s", file,
		names, shown(model), strings.Join(all, ", "))
}

// Read returns the family and the spec of a configuration. It returns an error for a key that is
// not understood, unless the reference implementation does not read it or has no number that
// depends on it: a key that might change the arithmetic is never ignored.
func Read(c *Config) (*Family, *spec.Spec, error) {
	whole := c
	c = c.text()
	f, err := Lookup(c)
	if err != nil {
		return nil, nil, err
	}
	if c != whole {
		whole.quantized("")
	}
	c.goBy(c.kind(f.Name))
	c.quantized(f.Packed)
	if c.Has("auto_map") {
		c.remark("auto_map names the publisher's own code, which may differ from the usual code "+
			"of %s that runs here", f.Name)
	}
	spec, err := f.Spec(c)
	if pruned := c.Object("pruned_heads"); pruned != nil && len(pruned.values) > 0 {
		c.fail("pruned_heads is not empty: heads that were cut out of single layers are not " +
			"supported")
	}
	if spec != nil {
		f.readPadding(c, spec)
		if spec.Classifies() {
			spec.LogitCap, spec.LogitScale = 0, 0 // for the scores of the vocabulary
		}
	}
	if spec != nil && spec.Vocab > 0 { // otherwise check reports what is wrong
		c.checkIDs(spec)
	}
	if first := c.firstErr(); first != nil {
		err = first // the first error, and not what follows from it
	}
	if err == nil {
		err = whole.unread()
	}
	if err == nil {
		err = whole.check(spec)
	}
	if err != nil {
		return nil, nil, err
	}
	spec.Remarks = append(spec.Remarks, whole.remarks...)
	return f, spec, nil
}

// checkIDs drops ids that begin or end a text and are not in the vocabulary, as the reference
// implementation goes on with them: no text has them. An id of -1 means that there is none.
func (c *Config) checkIDs(s *spec.Spec) {
	outside := func(id int) bool { return id < -1 || id >= s.Vocab }
	drop := func(key string) {
		if c.Has(key) { // and is not a default
			c.remark("%s is %s and was ignored; ids are from 0 to %d, because of %s", key,
				shown(c.values[key]), s.Vocab-1, c.keyOf("Vocab"))
		}
	}
	if outside(s.BOS) {
		drop("bos_token_id")
		s.BOS = -1
	}
	if slices.ContainsFunc(s.EOS, outside) {
		drop("eos_token_id")
		s.EOS = slices.DeleteFunc(s.EOS, outside)
	}
}

// check returns the error of [spec.Spec.Check], with the keys that the wrong fields come
// from.
func (c *Config) check(s *spec.Spec) error {
	err := s.Check()
	var wrong *spec.SpecError
	if !errors.As(err, &wrong) {
		return err
	}
	var keys []string
	for _, field := range wrong.Fields {
		if c.origin[field] == "" {
			continue
		}
		if key := c.keyOf(field); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return pkg.Errorf("%s: %s", c.file, wrong.Problem)
	}
	return pkg.Errorf("%s: %s: %s", c.file, strings.Join(keys, ", "), wrong.Problem)
}
