package tokenizer

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Config is what AutoTokenizer of transformers reads beside tokenizer.json. The class that it names
// may replace the parts of the tokenizer. The zero value has no class.
type Config struct {
	// ModelType is model_type of config.json. Class is tokenizer_class of tokenizer_config.json, or
	// else of config.json.
	ModelType, Class string
	// Settings is tokenizer_config.json, decoded.
	Settings map[string]any
	// Special has the text of each token with a role, by key: bos_token, eos_token and others.
	Special map[string]string
}

// ParseFor reads a tokenizer.json as [Parse] does, for a model. The ids are those of AutoTokenizer
// of transformers 5: normalizer and pre_tokenizer are those of the class that it would choose, with
// the options that the configuration sets, such as do_lower_case and add_prefix_space, and tokens
// with a role are control tokens. Byte-level tokenizers are the exception: they keep the normalizer
// and the splitter of the file, because the vocabulary was learnt with them, and only
// add_prefix_space counts. The remarks say in one sentence each what differs from the file or from
// transformers. It returns an error for an option of the class that is neither true nor false.
func ParseFor(data []byte, name string, c Config) (t *Tokenizer, remarks []string, err error) {
	table, err := newAutoTable()
	if err != nil {
		return nil, nil, err
	}
	t, err = parse(data, func(f *file, m modelFile) (err error) {
		remarks, err = table.rebuild(f, m, c)
		remarks = append(remarks, table.splitter(c, *f, len(m.tokens))...)
		return err
	})
	if err != nil {
		return nil, nil, pkg.Errorf("%s: %w", name, err)
	}
	t.translate(table.class(c, false), c)
	return t, remarks, nil
}

//go:embed auto.json
var autoJSON []byte

func newAutoTable() (table autoTable, err error) {
	if err := json.Unmarshal(autoJSON, &table); err != nil {
		return table, pkg.Errorf("auto.json: %w", err)
	}
	return table, nil
}

// autoTable is what testdata/auto.py recorded. Names of classes have no "Fast" at the end.
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
	// Languages are those of M2M100's tokenizers, by language_codes, and of mBART's, by model, in
	// the order of their ids.
	Languages map[string][]string
}

// class is a class of transformers that brings its own parts, for files with a kind of model.
type class struct {
	Model string
	// Parts are normalizer and pre_tokenizer, decoded.
	Parts map[string]any
	// Options give a key in the parts another value. A later one wins.
	Options []struct {
		Option string
		Value  bool
		Key    string
		Set    any
	}
	// Special has the tokens with a role that the configuration need not name. Bare classes put no
	// control tokens around a text.
	Special map[string]string
	Bare    bool
}

// class returns the name of the class that AutoTokenizer chooses, "" for none. isBytes reports
// whether the file has a byte-level part, which LlamaTokenizer would drop.
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

// rebuild gives a file the parts and the control tokens of its class.
func (a autoTable) rebuild(f *file, m modelFile, c Config) (remarks []string, err error) {
	isBytes := bytes.Contains(slices.Concat(f.PreTokenizer, f.Decoder), []byte(`"ByteLevel"`))
	name := a.class(c, isBytes)
	k := a.Classes[name]
	if k.Model != m.kind {
		f.addSpecial(m, c.Special)
		return nil, nil
	}
	maps.Copy(k.Special, c.Special)
	f.addSpecial(m, k.Special)
	if err := k.set(c.Settings); err != nil {
		return nil, err
	}
	if k.Bare && bytes.Contains(f.PostProcessor, []byte(`"TemplateProcessing"`)) {
		f.PostProcessor = nil
	}
	own, pre, normalizer := decoded(f.PreTokenizer), k.Parts["pre_tokenizer"], k.Parts["normalizer"]
	if isBytes = conform(own, pre) || isBytes; isBytes {
		if f.PreTokenizer, err = marshal(own); err != nil {
			return nil, err
		}
	}
	switch {
	case reflect.DeepEqual(own, pre) && reflect.DeepEqual(decoded(f.Normalizer), normalizer):
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

// addSpecial makes control tokens of tokens with a role, if the model has them.
func (f *file) addSpecial(m modelFile, roles map[string]string) {
	f.addControls(m, maps.Values(roles))
}

// addControls makes control tokens of texts that the model has.
func (f *file) addControls(m modelFile, texts iter.Seq[string]) {
	special := map[string]bool{}
	for text := range texts {
		special[text] = text != ""
	}
	for i, a := range f.AddedTokens {
		f.AddedTokens[i].Special = a.Special || special[a.Content]
		delete(special, a.Content)
	}
	for _, t := range slices.Backward(m.tokens) { // the last of equal ones counts
		if special[t.content] {
			f.AddedTokens = append(f.AddedTokens,
				addedToken{ID: uint32(t.id), Content: t.content, Special: true})
			delete(special, t.content)
		}
	}
}

// set sets the options of tokenizer_config.json in the parts.
func (k class) set(settings map[string]any) error {
	for _, o := range k.Options {
		value, ok := settings[o.Option].(bool)
		if !ok && settings[o.Option] != nil {
			return fmt.Errorf("tokenizer_config.json beside it: %s is %.60v; want true, false or "+
				"null", o.Option, settings[o.Option])
		}
		if ok && value == o.Value {
			objects(k.Parts, func(part map[string]any) {
				if _, has := part[o.Key]; has {
					part[o.Key] = o.Set
				}
			})
		}
	}
	return nil
}

// conform gives the byte-level parts of a decoded pre_tokenizer the prefix space of another one,
// and values to the keys that do nothing there or have a default. It reports whether the other one
// is byte-level.
func conform(own, other any) bool {
	var space any
	objects(other, func(part map[string]any) {
		if part["type"] == "ByteLevel" {
			space = part["add_prefix_space"]
		}
	})
	objects(own, func(part map[string]any) {
		if part["type"] == "ByteLevel" && space != nil {
			part["add_prefix_space"], part["trim_offsets"] = space, true
			part["use_regex"] = part["use_regex"] != false
		}
	})
	return space != nil
}

// objects calls f for every object in a decoded value.
func objects(value any, f func(map[string]any)) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			objects(item, f)
		}
	case map[string]any:
		f(v)
		for _, item := range v {
			objects(item, f)
		}
	}
}

// decoded returns a part of a file as maps, lists and values; nil if it is missing.
func decoded(raw json.RawMessage) (part any) {
	_ = json.Unmarshal(raw, &part) // what is malformed is refused where it is parsed
	return part
}

// splitter returns a remark if the texts of a Mistral model are split by an expression that is
// known to be wrong, as in files published by mistake. tokens is the size of the vocabulary.
func (a autoTable) splitter(c Config, f file, tokens int) []string {
	var pre struct {
		Pretokenizers []struct{ Pattern patternFile }
	}
	_ = json.Unmarshal(f.PreTokenizer, &pre) // another kind of pre_tokenizer has no splitter
	if tokens <= a.Mistral.MinVocabulary || len(pre.Pretokenizers) == 0 ||
		!slices.Contains(a.Mistral.ModelTypes, c.ModelType) {
		return nil
	}
	regex := pre.Pretokenizers[0].Pattern.Regex
	if regex == nil || *regex == a.Mistral.Expression {
		return nil
	}
	return []string{"tokenizer.json splits texts by another expression than Mistral's own " +
		"tokenizer, a mistake of which transformers warns (fix_mistral_regex); the file counts"}
}
