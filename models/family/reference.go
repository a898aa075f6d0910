package family

import (
	_ "embed" // reference.tsv
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// referenceTable lists the keys of config.json that the reference implementation reads, for each
// model_type. reference_keys.py makes it from the source of transformers and explains its columns.
//
//go:embed reference.tsv
var referenceTable string

// referenceKey is what the reference implementation does with a key.
type referenceKey struct {
	computes bool   // code that changes numbers reads it
	nameOf   string // the key that this one is another name of, or ""
	fallback any    // the value where the key is missing, decoded like a file; nil if there is none
}

// referenceKeys returns the keys of the table by the first column: a model_type, "*" for every
// model_type, or "rope KIND" for an object with the parameters of a rotation.
var referenceKeys = sync.OnceValue(func() map[string]map[string]referenceKey {
	all := map[string]map[string]referenceKey{}
	for line := range strings.Lines(referenceTable) {
		column := strings.Split(strings.TrimSpace(line), "\t")
		if len(column) != 4 {
			continue // the comment
		}
		k := referenceKey{computes: column[2] == "computes"}
		if name, isName := strings.CutPrefix(column[2], "="); isName {
			k.nameOf, k.computes = name, true
		}
		d := json.NewDecoder(strings.NewReader(column[3]))
		d.UseNumber()
		if err := d.Decode(&k.fallback); err != nil {
			panic(fmt.Sprintf("family: reference.tsv: %s: %v", line, err))
		}
		if all[column[0]] == nil {
			all[column[0]] = map[string]referenceKey{}
		}
		all[column[0]][column[1]] = k
	}
	return all
})

// goBy makes the table decide what is done with keys that no getter reads, and what a missing key
// means: kind is a value of its first column. Without it, or for a kind that the table does not
// have, a key must be read unless it changes no number of any model.
func (c *Config) goBy(kind string) {
	c.reference = map[string]referenceKey{}
	if c.parent == nil || c.Has("model_type") {
		maps.Copy(c.reference, referenceKeys()["*"])
	}
	own, ok := referenceKeys()[kind]
	maps.Copy(c.reference, own)
	c.listed = ok
}

// kind returns the model_type, if the table has it, or else the name of the family.
func (c *Config) kind(family string) string {
	if model, ok := c.values["model_type"].(string); ok && referenceKeys()[model] != nil {
		return model
	}
	family = strings.TrimSuffix(family, "_encoder") // one stack of the model_type
	if referenceKeys()[family] == nil {             // a model_type with a hyphen
		return strings.ReplaceAll(family, "_", "-")
	}
	return family
}

// withOtherNames returns keys and the other names that the reference implementation has for them.
func (c *Config) withOtherNames(keys []string) []string {
	all := slices.Clone(keys)
	for _, name := range sortedKeys(c.reference) {
		if slices.Contains(keys, c.reference[name].nameOf) && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// fallback returns the value that the reference implementation takes where none of the keys is in
// the file, with its key. It is nil if there is none, and where a key is there with null.
func (c *Config) fallback(keys ...string) (any, string) {
	for _, key := range keys {
		if _, there := c.values[key]; there {
			return nil, key
		}
	}
	for _, key := range keys {
		if v := c.reference[key].fallback; v != nil {
			return v, key
		}
	}
	return nil, keys[0]
}

// remark records what was noticed and changes no number; see [spec.Spec.Remarks].
func (c *Config) remark(format string, args ...any) {
	r := c.root()
	r.remarks = append(r.remarks, "config.json: "+short(fmt.Sprintf(format, args...)))
}

// left returns the keys that no getter read, including those of inner objects: those that may
// change a number, and those that the reference implementation does not read. Keys that it reads
// without effect on a number, and keys with its default, are in neither.
func (c *Config) left() (refused, ignored []string) {
	for key, value := range c.values {
		k, known := c.reference[key]
		switch {
		case value == nil || c.read[key] || known && !k.computes || same(value, k.fallback):
		case known || !c.listed:
			refused = append(refused, c.path+key)
		default:
			ignored = append(ignored, c.path+key)
		}
	}
	for _, child := range c.children {
		r, i := child.left()
		refused, ignored = append(refused, r...), append(ignored, i...)
	}
	slices.Sort(refused)
	slices.Sort(ignored)
	return refused, ignored
}

// same returns whether two values are equal, numbers also if they are written differently.
func same(a, b any) bool {
	x, isNumber := a.(json.Number)
	y, ok := b.(json.Number)
	if isNumber && ok {
		f, errX := x.Float64()
		g, errY := y.Float64()
		return errX == nil && errY == nil && f == g
	}
	return reflect.DeepEqual(a, b)
}

// unread returns an error that names the keys that were not read and may change a number. Keys that
// the reference implementation does not read become a remark.
func (c *Config) unread() error {
	refused, ignored := c.left()
	names := func(keys []string) string {
		return firstOf(len(keys), 30, func(i int) string { return plainKey(keys[i]) })
	}
	if len(refused) > 0 {
		return pkg.Errorf("%s: key %s is not supported: it may change the arithmetic, and "+
			"would be ignored; remove it from the file if you know that it does not", c.file,
			names(refused))
	}
	if len(ignored) > 0 {
		c.remark("keys that transformers does not read were ignored: %s", names(ignored))
	}
	return nil
}

// quantized sets an error if the weights are quantised by another method than the packed one. The
// reference implementation and MLX have different keys for how they are.
func (c *Config) quantized(packed string) {
	for _, key := range []string{"quantization_config", "quantization"} {
		how, ok := c.values[key].(map[string]any)
		if !ok || len(how) == 0 {
			continue
		}
		what := "quantised"
		method, bits := quantization(how)
		if method != "" && method == packed {
			c.read[key] = true
			continue
		}
		if method != "" || bits != "" {
			what += " (" + strings.Trim(method+", "+bits, ", ") + ")"
		}
		c.fail("%s: weights are %s; open the unquantised checkpoint or a GGUF file", key, what)
	}
}

// quantization returns the method and the bits in a description of quantised weights, "" for what
// it does not have. Some programs write them into inner objects.
func quantization(how map[string]any) (method, bits string) {
	for _, key := range sortedKeys(how) {
		switch v := how[key].(type) {
		case string:
			if slices.Contains([]string{"quant_method", "quant_algo", "quant_type"}, key) &&
				method == "" {
				if method = cutTo(v, 40); len(method) <= 5 { // awq, gptq, fp8, hqq: initials
					method = strings.ToUpper(method)
				}
			}
		case json.Number:
			if slices.Contains([]string{"bits", "num_bits", "w_bit"}, key) && bits == "" {
				bits = cutTo(v.String(), 10) + " bits"
			}
		case bool:
			if n, ok := map[string]string{"load_in_4bit": "4", "load_in_8bit": "8"}[key]; v && ok {
				bits = n + " bits"
			}
		}
	}
	for _, key := range sortedKeys(how) {
		if inner, ok := how[key].(map[string]any); ok {
			m, b := quantization(inner)
			if method == "" {
				method = m
			}
			if bits == "" {
				bits = b
			}
		}
	}
	return method, bits
}
