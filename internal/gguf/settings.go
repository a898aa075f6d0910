package gguf

import (
	_ "embed" // llamacpp.txt
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// settings reads the metadata of one architecture and writes it as config.json would have it. It
// keeps the first error, so that keys can be read in a row without checking.
type settings struct {
	file   *File
	arch   string
	form   architecture
	read   map[string]bool // the keys that were looked at
	config map[string]any
	// origin is by key of config.json, also of keys in rope_scaling, where its value comes from: a
	// key of the metadata, or what is read of a tensor.
	origin map[string]string
	// tensors are the names and layouts of the tensors, which may depend on what the file has.
	tensors []row
	// stands has values for keys that the file does not have, and apart the beginnings of tensors
	// that are not of the language model; see [ollamaSettings].
	stands map[string]Value
	apart  []string
	// scalars are numbers of the metadata that are weights, by the name of their tensor.
	scalars map[string]float32
	// remarks are what was noticed and changes no number.
	remarks []string
	err     error
}

// fail sets the error, unless there is one already.
func (s *settings) fail(format string, args ...any) {
	if s.err == nil {
		s.err = s.file.fail(format, args...)
	}
}

// wrong sets the error that the value of a key is not what it must be.
func (s *settings) wrong(key string, v Value, must string) {
	s.fail("%s is %v; it must be %s", key, v, must)
}

// value returns the value of a key of the architecture, and its whole name: llama.block_count for
// block_count.
func (s *settings) value(key string) (name string, v Value, ok bool) {
	name = s.arch + "." + key
	s.read[name] = true
	if v, ok = s.file.metadata[name]; !ok {
		v, ok = s.stands[name]
	}
	return name, v, ok
}

// has reports whether there is a value for a key of the architecture.
func (s *settings) has(key string) bool {
	name := s.arch + "." + key
	_, ok := s.file.metadata[name]
	if !ok {
		_, ok = s.stands[name]
	}
	return ok
}

// whole returns a whole number. Some keys have a number for each layer: these must be equal.
func (s *settings) whole(key string) (n int64, ok bool) {
	const must = "a whole number from 0 to 2147483647"
	name, v, ok := s.value(key)
	if !ok {
		return 0, false
	}
	if count, isArray := v.Len(); isArray && count > 0 {
		first := v.At(0)
		for i := range count {
			if at := v.At(i); at.number != first.number || at.array != nil {
				s.fail("%s has %v for layer 0 and %v for layer %d; layers that differ are not "+
					"supported", name, first, at, i)
				return 0, false
			}
		}
		v = first
	}
	n, ok = v.Int()
	if !ok || n < 0 || n > 1<<31-1 {
		s.wrong(name, v, must)
		return 0, false
	}
	return n, true
}

// decimal returns a number as config.json writes it.
func (s *settings) decimal(key string) (json.Number, bool) {
	name, v, ok := s.value(key)
	if !ok {
		return "", false
	}
	if n, whole := v.Int(); whole {
		return json.Number(strconv.FormatInt(n, 10)), true
	}
	text := v.decimal()
	if _, isFloat := v.Float(); !isFloat || strings.ContainsAny(text, "NI") {
		s.wrong(name, v, "a number")
		return "", false
	}
	return json.Number(text), true
}

// set sets a key of config.json to what a key of the metadata says.
func (s *settings) set(config, key string, value any) {
	s.config[config], s.origin[config] = value, s.arch+"."+key
}

// setIn is set for a key of an object in config.json.
func (s *settings) setIn(object map[string]any, config, key string, value any) {
	object[config], s.origin[config] = value, s.arch+"."+key
}

// size sets a key of config.json to a whole number. A key that is missing is an error.
func (s *settings) size(config, key string) {
	if !s.has(key) {
		s.fail("key %s.%s is missing; it must be a whole number", s.arch, key)
	}
	s.sizeIfAny(config, key)
}

// sizeIfAny is size, but leaves the key out if it is missing.
func (s *settings) sizeIfAny(config, key string) {
	if n, ok := s.whole(key); ok {
		s.set(config, key, json.Number(strconv.FormatInt(n, 10)))
	}
}

// number sets a key of config.json to a number, if the metadata has it.
func (s *settings) number(config, key string) {
	if x, ok := s.decimal(key); ok {
		s.set(config, key, x)
	}
}

// required is number for a key that must be there.
func (s *settings) required(config, key string) {
	if !s.has(key) {
		s.fail("key %s.%s is missing; it must be a number", s.arch, key)
	}
	s.number(config, key)
}

// only reads a number that is supported with one value only.
func (s *settings) only(key string, want json.Number) {
	if x, ok := s.decimal(key); ok && x != want {
		s.fail("%s.%s is %s, which changes the arithmetic and is not supported; only %s is", s.arch,
			key, x, want)
	}
}

// truth reads a truth value that is supported with one value only.
func (s *settings) truth(key string, want bool) {
	name, v, ok := s.value(key)
	if !ok {
		return
	}
	if b, isBool := v.Bool(); !isBool || b != want {
		s.wrong(name, v, strconv.FormatBool(want)+": other values are not supported")
	}
}

// text returns a text, or "" if the key is missing.
func (s *settings) text(key string) string {
	name, v, ok := s.value(key)
	if !ok {
		return ""
	}
	t, ok := v.Text()
	if !ok {
		s.wrong(name, v, "a text")
	}
	return t
}

// llamaCppTable lists the keys that llama.cpp reads; it explains itself.
//
//go:embed llamacpp.txt
var llamaCppTable string

// llamaCppReads returns whether llama.cpp reads a key for an architecture, and whether that changes
// a number here.
func llamaCppReads(arch, key string) (reads, computes bool) {
	for line := range strings.Lines(llamaCppTable) {
		words := strings.Fields(line)
		if words[0] != "*" && words[0] != arch {
			continue
		}
		if slices.Contains(words, key) {
			return true, true
		}
		reads = reads || slices.Contains(words, "-"+key)
	}
	return reads, false
}

// unread sets the error that a key of the architecture was not read, because a key that may change
// the arithmetic is never ignored. A key that llama.cpp does not read changes nothing there: it is
// a remark.
func (s *settings) unread() {
	var ignored []string
	for _, key := range slices.Sorted(maps.Keys(s.file.metadata)) {
		rest, ours := strings.CutPrefix(key, s.arch+".")
		if !ours || s.read[key] {
			continue
		}
		switch reads, computes := llamaCppReads(s.arch, rest); {
		case computes:
			s.fail("key %s (%v) is not supported for architecture %s: it may change the "+
				"arithmetic, and would be ignored", quoted(key), s.file.metadata[key], s.arch)
		case !reads && len(ignored) < 10:
			ignored = append(ignored, quoted(key))
		}
	}
	if ignored != nil {
		s.remarks = append(s.remarks, "keys that llama.cpp does not read for architecture "+s.arch+
			" were ignored: "+strings.Join(ignored, ", "))
	}
}

// floats returns all numbers of a small vector, such as factors of frequencies.
func (s *settings) floats(tensor string) []any {
	const most = 1 << 16
	shape, err := s.file.Shape(tensor)
	if err != nil || len(shape) != 1 || shape[0] > most {
		s.fail("tensor %s has shape %v; it must be a vector of at most %d numbers", tensor, shape,
			most)
		return nil
	}
	values := make([]float32, shape[0])
	if err := s.file.Float32At(values, tensor, 0); err != nil {
		if s.err == nil {
			s.err = err
		}
		return nil
	}
	list := make([]any, len(values))
	for i, x := range values {
		text := strconv.FormatFloat(float64(x), 'g', -1, 32)
		if strings.ContainsAny(text, "NI") {
			s.fail("tensor %s: number %d is %v; it must be finite", tensor, i, x)
		}
		list[i] = json.Number(text)
	}
	return list
}

// countRows sets a key of config.json to the number of rows of a matrix.
func (s *settings) countRows(config, tensor string) {
	shape, err := s.file.Shape(tensor)
	switch {
	case err != nil:
		s.fail("tensor %s is missing", tensor)
		return
	case len(shape) != 2:
		s.fail("tensor %s has shape %v; it must have two axes", tensor, shape)
		return
	}
	s.config[config] = json.Number(strconv.Itoa(shape[0]))
	s.origin[config] = "the number of rows of " + tensor
}

// explain adds to an error of the family, which names keys of config.json, the keys of the metadata
// that they come from.
func (s *settings) explain(err error) error {
	text := err.Error()
	var from []string
	for _, key := range slices.Sorted(maps.Keys(s.origin)) {
		if wordIn(text, key) {
			from = append(from, fmt.Sprintf("%s is %s of the file", key, s.origin[key]))
		}
	}
	if strings.Contains(text, "config.json") {
		from = append(from, "config.json is the metadata of the file")
	}
	if from == nil {
		return err
	}
	return fmt.Errorf("%w (%s)", err, strings.Join(from, ", "))
}

// wordIn returns whether a text has a key that is not a part of a longer key.
func wordIn(text, key string) bool {
	part := func(c byte) bool {
		return c == '_' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
	}
	for from := 0; ; {
		i := strings.Index(text[from:], key)
		if i < 0 {
			return false
		}
		begin, end := from+i, from+i+len(key)
		if (begin == 0 || !part(text[begin-1])) && (end == len(text) || !part(text[end])) {
			return true
		}
		from = end
	}
}
