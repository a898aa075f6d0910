package tokenizer

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Config is what AutoTokenizer of transformers reads beside tokenizer.json. It says which class of
// transformers the tokenizer has; some classes replace the parts of the tokenizer and take only
// the vocabulary and the control tokens from the file. The zero value has no class.
type Config struct {
	// ModelType is model_type of config.json. Class is tokenizer_class of tokenizer_config.json, or
	// else of config.json.
	ModelType, Class string
	// Settings has tokenizer_config.json, decoded, and File is its name for messages.
	Settings map[string]any
	File     string
}

// ParseFor reads a tokenizer.json as [Parse] does, for a model. The ids are those of AutoTokenizer
// of transformers 5: normalizer and pre_tokenizer are those of the class that it would choose, with
// the options that the configuration sets, such as do_lower_case and add_prefix_space. Byte-level
// tokenizers are the exception: they keep the normalizer and the splitter of the file, because the
// vocabulary was learnt with them; add_prefix_space counts there too. The remarks say in one
// sentence each what differs from the file or from transformers. It returns an error for an option
// of the class that is neither true nor false.
func ParseFor(data []byte, name string, c Config) (t *Tokenizer, remarks []string, err error) {
	var table autoTable
	if err := json.Unmarshal(autoJSON, &table); err != nil {
		return nil, nil, fmt.Errorf("tokenizer: auto.json: %w", err)
	}
	t, err = parse(data, func(f *file, m modelFile) (err error) {
		remarks, err = table.rebuild(f, m.kind, c)
		remarks = append(remarks, table.splitter(c, *f, len(m.tokens))...)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("tokenizer: %s: %w", name, err)
	}
	return t, remarks, nil
}

//go:embed auto.json
var autoJSON []byte

// autoTable is what testdata/auto.py recorded of transformers. Names of classes have no "Fast" at
// the end.
type autoTable struct {
	ModelTypes map[string]string `json:"model_types"` // the class of each
	// Disbelieved are the model types whose tokenizer_class AutoTokenizer replaces by its own.
	Disbelieved []string
	// Classes are those that bring their own parts; others take those of the file.
	Classes map[string]class
	// Mistral has the expression that should split the texts of these models.
	Mistral struct {
		ModelTypes    []string `json:"model_types"`
		Expression    string
		MinVocabulary int `json:"min_vocabulary"`
	}
}

// class is a class of transformers that brings its own parts, for files with a kind of model.
type class struct {
	Model string
	// Parts are normalizer and pre_tokenizer, decoded.
	Parts map[string]any
	// Options change the value at a place in the parts, given by the keys on the way to it. A later
	// one wins.
	Options []struct {
		Option string
		Value  bool
		At     []string
		Set    any
	}
}

// class returns the name of the class that AutoTokenizer chooses, "" for none. isBytes says whether
// the file has a byte-level part, which LlamaTokenizer would drop.
func (a autoTable) class(c Config, isBytes bool) string {
	named, own := strings.TrimSuffix(c.Class, "Fast"), a.ModelTypes[c.ModelType]
	disbelieved := slices.Contains(a.Disbelieved, c.ModelType)
	switch {
	case named == "LlamaTokenizer" && isBytes && !disbelieved:
		return ""
	case named == "", own == "TokenizersBackend", disbelieved:
		return own
	}
	return named
}

// rebuild gives a file, which has a kind of model, the parts of its class.
func (a autoTable) rebuild(f *file, kind string, c Config) (remarks []string, err error) {
	isBytes := bytes.Contains(slices.Concat(f.PreTokenizer, f.Decoder), []byte(`"ByteLevel"`))
	name := a.class(c, isBytes)
	k, ok := a.Classes[name]
	if !ok || k.Model != kind {
		return nil, nil
	}
	if err := k.set(c); err != nil {
		return nil, err
	}
	normalizer, pre := k.Parts["normalizer"], k.Parts["pre_tokenizer"]
	if isBytes {
		if f.PreTokenizer, err = withPrefixSpace(f.PreTokenizer, pre); err != nil {
			return nil, err
		}
	}
	switch {
	case alike(f.PreTokenizer, pre) && alike(f.Normalizer, normalizer):
		return nil, nil
	case isBytes:
		return []string{"tokenizer.json splits or normalises texts in another way than " + name +
			" of transformers 5: its own way counts, with which the vocabulary was learnt, and " +
			"some texts have other ids there"}, nil
	}
	if f.Normalizer, err = marshal(normalizer); err == nil {
		f.PreTokenizer, err = marshal(pre)
	}
	return []string{"normalizer and pre_tokenizer are not those of tokenizer.json but those of " +
		name + ", as in transformers 5"}, err
}

// set sets the options of the configuration in the parts.
func (k class) set(c Config) error {
	for _, o := range k.Options {
		value, ok := c.Settings[o.Option].(bool)
		if !ok && c.Settings[o.Option] != nil {
			return fmt.Errorf("%s: %s is %.60v; want true, false or null", c.File, o.Option,
				c.Settings[o.Option])
		}
		if !ok || value != o.Value {
			continue
		}
		var at any = k.Parts
		for _, key := range o.At[:len(o.At)-1] {
			if list, ok := at.([]any); ok {
				i, _ := strconv.Atoi(key)
				at = list[i]
				continue
			}
			at = at.(map[string]any)[key]
		}
		at.(map[string]any)[o.At[len(o.At)-1]] = o.Set
	}
	return nil
}

// withPrefixSpace returns the pre_tokenizer of a file with add_prefix_space of a decoded one.
func withPrefixSpace(raw json.RawMessage, from any) (json.RawMessage, error) {
	part, changed := decoded(raw), false
	for _, b := range byteLevels(from) {
		for _, own := range byteLevels(part) {
			changed = changed || own["add_prefix_space"] != b["add_prefix_space"]
			own["add_prefix_space"] = b["add_prefix_space"]
		}
	}
	if !changed {
		return raw, nil
	}
	return marshal(part)
}

// byteLevels returns the parts of type ByteLevel in a decoded pre_tokenizer, which may be a
// Sequence.
func byteLevels(part any) (found []map[string]any) {
	object, _ := part.(map[string]any)
	list, _ := object["pretokenizers"].([]any)
	for _, p := range append(list, part) {
		if b, ok := p.(map[string]any); ok && b["type"] == "ByteLevel" {
			found = append(found, b)
		}
	}
	return found
}

// alike reports whether a part of a file and a decoded one do the same. trim_offsets does nothing
// in a pre_tokenizer, and use_regex is true where it is missing.
func alike(raw json.RawMessage, part any) bool {
	own := decoded(raw)
	for _, b := range byteLevels(own) {
		b["trim_offsets"] = true
		if b["use_regex"] == nil {
			b["use_regex"] = true
		}
	}
	return reflect.DeepEqual(own, part)
}

// decoded returns a part of a file as maps, lists and values; nil if it is missing.
func decoded(raw json.RawMessage) (part any) {
	_ = json.Unmarshal(raw, &part) // what is malformed is refused where it is parsed
	return part
}

// splitter returns a remark if the texts of a Mistral model are split by an expression that is
// known to be wrong, as in files published by mistake. tokens is the size of the vocabulary.
func (a autoTable) splitter(c Config, f file, tokens int) []string {
	if tokens <= a.Mistral.MinVocabulary || !slices.Contains(a.Mistral.ModelTypes, c.ModelType) {
		return nil
	}
	var pre struct {
		Pretokenizers []struct{ Pattern patternFile }
	}
	_ = json.Unmarshal(f.PreTokenizer, &pre)
	if len(pre.Pretokenizers) == 0 || pre.Pretokenizers[0].Pattern.Regex == nil ||
		*pre.Pretokenizers[0].Pattern.Regex == a.Mistral.Expression {
		return nil
	}
	return []string{"tokenizer.json splits texts by another expression than Mistral's own " +
		"tokenizer, which Mistral published by mistake: transformers warns of it and corrects it " +
		"with fix_mistral_regex=True; here the file counts"}
}
