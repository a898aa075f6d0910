package family

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/models/spec"
)

// Config reads a config.json. It remembers which keys were read and which key each size of the
// model comes from. It also keeps the first error, so that a family can read all keys in a row
// without checking. Every error names the file, the key, the value as it is in the file, and what
// is allowed.
//
// A null is an error, like any other value of a wrong type and as in the reference implementation,
// except for the keys of [Config.AllowNull] and where a method says otherwise.
type Config struct {
	file   string
	values map[string]any
	read   map[string]bool // the keys that a getter looked at
	nullOK map[string]bool // the keys of AllowNull
	err    error
	// origin is, for a field of the spec, the key that it was read from. Only the reader of the
	// whole file has it.
	origin map[string]string
	// path comes before the keys of an inner object, as "rope_parameters.". The reader of the whole
	// file has no parent.
	path     string
	parent   *Config
	children []*Config
	// reference is what the reference implementation does with each key. listed is whether it has
	// all the keys that the reference implementation reads. See goBy.
	reference map[string]referenceKey
	listed    bool
	remarks   []string // of the reader of the whole file
}

// NewConfig returns a reader of a decoded JSON object. Its numbers must be json.Number. The name of
// the file is for error messages.
func NewConfig(file string, values map[string]any) *Config {
	return &Config{
		file: file, values: values, read: map[string]bool{},
		origin: map[string]string{},
	}
}

// firstErr returns the first error so far.
func (c *Config) firstErr() error { return c.root().err }

// root returns the reader of the whole file.
func (c *Config) root() *Config {
	for c.parent != nil {
		c = c.parent
	}
	return c
}

// name returns a key with the keys of the objects around it: rope_parameters.factor.
func (c *Config) name(key string) string { return c.path + key }

// fail sets the error, unless there is one already. The message begins with the key that it is
// about.
func (c *Config) fail(format string, args ...any) {
	r := c.root()
	if r.err == nil {
		r.err = pkg.Errorf("%s: %s", r.file, short(fmt.Sprintf(format, args...)))
	}
}

// failValue sets the error that the value of a key is not what it must be.
func (c *Config) failValue(key string, value any, must string) {
	c.fail("%s is %s; it must be %s", c.name(key), shown(value), must)
}

// short cuts a message to a readable length.
func short(text string) string { return cutTo(text, 1000) }

// cut cuts a name to a readable length.
func cut(name string) string { return cutTo(name, 200) }

func cutTo(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// shown returns a value as it is in the file, cut if it is long: a text in quotes, a list or an
// object with its first entries.
func shown(v any) string {
	const most, entries = 60, 3
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return fmt.Sprintf("%q", cutTo(v, most))
	case json.Number:
		return cutTo(v.String(), most)
	case []any:
		return "[" + firstOf(len(v), entries, func(i int) string { return shownInside(v[i]) }) + "]"
	case map[string]any:
		keys := sortedKeys(v)
		return "{" + firstOf(len(v), entries, func(i int) string {
			return fmt.Sprintf("%q: %s", cutTo(keys[i], most), shownInside(v[keys[i]]))
		}) + "}"
	}
	return cutTo(fmt.Sprint(v), most)
}

// shownInside returns a value inside a list or an object.
func shownInside(v any) string {
	switch v.(type) {
	case []any:
		return "[…]"
	case map[string]any:
		return "{…}"
	}
	return shown(v)
}

// firstOf joins the first entries of a list of n.
func firstOf(n, most int, entry func(int) string) string {
	var b strings.Builder
	for i := range min(n, most) {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(entry(i))
	}
	if n > most {
		b.WriteString(", …")
	}
	return b.String()
}

// value returns the first value that is present and not null, with its key. It marks all the keys
// as read. Two keys with different values are an error, because one of them would be ignored.
func (c *Config) value(keys ...string) (any, string) {
	var found any
	key := keys[0]
	for _, k := range c.withOtherNames(keys) {
		c.read[k] = true
		v := c.values[k]
		switch {
		case v == nil:
		case found == nil:
			found, key = v, k
		case !reflect.DeepEqual(v, found):
			c.fail("%s is %s, but %s is %s; both mean the same, so remove one", c.name(key),
				shown(found), c.name(k), shown(v))
		}
	}
	return found, key
}

// ignore marks keys as read that change no number of a model of this family, whatever the reference
// implementation does with them.
func (c *Config) ignore(keys ...string) {
	for _, key := range keys {
		c.value(key)
	}
}

// AllowNull makes null mean the same as an absent key, for these keys and the getters that are
// called after it.
func (c *Config) AllowNull(keys ...string) {
	if c.nullOK == nil {
		c.nullOK = map[string]bool{}
	}
	for _, key := range keys {
		c.nullOK[key] = true
	}
}

// optional is [Config.value], but a null without [Config.AllowNull] is an error. ok is false if
// there is no value.
func (c *Config) optional(must string, keys ...string) (v any, key string, ok bool) {
	v, key = c.value(keys...)
	if v == nil {
		for _, k := range keys {
			if c.isNull(k) && !c.nullOK[k] {
				c.failValue(k, nil, must+", or the key left out")
			}
		}
	}
	return v, key, v != nil
}

// failMissing sets the error that a required key is missing.
func (c *Config) failMissing(must string, keys ...string) {
	var names []string
	for _, k := range keys {
		if c.isNull(k) {
			c.failValue(k, nil, must)
			return
		}
		names = append(names, c.name(k))
	}
	c.fail("key %s is missing; it must be %s", strings.Join(names, " or "), must)
}

// isNull returns whether a key is present and null.
func (c *Config) isNull(key string) bool {
	v, ok := c.values[key]
	return ok && v == nil
}

// Has returns whether a key is present and not null. It does not mark the key as read.
func (c *Config) Has(key string) bool { return c.values[key] != nil }

// Object returns a reader of the object under a key. Its keys must be read too. It returns nil if
// the key is absent or null.
func (c *Config) Object(key string) *Config {
	v, _ := c.value(key)
	if v == nil {
		return nil
	}
	values, ok := v.(map[string]any)
	if !ok {
		c.failValue(key, v, "an object")
		return nil
	}
	child := c.child(key, values)
	c.children = append(c.children, child)
	return child
}

// objectOrEmpty is Object, but returns an empty object if the key is absent or null.
func (c *Config) objectOrEmpty(key string) *Config {
	if o := c.Object(key); o != nil {
		return o
	}
	return c.child(key, nil)
}

func (c *Config) child(key string, values map[string]any) *Config {
	return &Config{
		file: c.file, values: values, read: map[string]bool{}, path: c.name(key) + ".",
		parent: c,
	}
}

// floats returns a list of numbers. It is nil if the key is absent or null.
func (c *Config) floats(key string) []float64 {
	v, _ := c.value(key)
	list, ok := v.([]any)
	if !ok && v != nil {
		c.failValue(key, v, "a list of numbers")
	}
	out := make([]float64, len(list))
	for i, x := range list {
		n, ok := x.(json.Number)
		f, err := n.Float64()
		if !ok || err != nil {
			c.failValue(entry(key, i), x, "a number of at most 64 bits")
			return nil
		}
		out[i] = f
	}
	return out
}

// entry returns the name of an entry of a list.
func entry(key string, i int) string { return fmt.Sprintf("%s[%d]", key, i) }

// Int returns a whole number. It is under the first of the keys that is present; if none is, Int
// returns the fallback.
func (c *Config) Int(fallback int, keys ...string) int {
	v, key, ok := c.optional(wholeNumber(math.MinInt32, math.MaxInt32), keys...)
	if !ok {
		return fallback
	}
	return c.integer(v, key, math.MinInt32, math.MaxInt32)
}

// AtLeast is [Config.Int] for a number that must be at least least. The fallback may be smaller.
func (c *Config) AtLeast(least, fallback int, keys ...string) int {
	v, key, ok := c.optional(wholeNumber(least, math.MaxInt32), keys...)
	if !ok {
		return fallback
	}
	return c.integer(v, key, least, math.MaxInt32)
}

// Size returns a size of the model, which is under the first of the keys that is present. It must
// be from 1 to [spec.MaxSize] of the field of the spec. If it is missing, it is the default of the
// reference implementation, with a remark, or an error if that has none. After an error the result
// is 1.
func (c *Config) Size(field string, keys ...string) int {
	v, key := c.value(keys...)
	if v == nil {
		if v, key = c.fallback(keys...); v != nil {
			c.remark("%s is missing; %s is the default of transformers", key, shown(v))
		}
	}
	c.setOrigin(field, key)
	if v == nil {
		c.failMissing(wholeNumber(1, spec.MaxSize(field)), keys...)
		return 1
	}
	return c.integer(v, key, 1, spec.MaxSize(field))
}

// SizeOr is Size with a fallback for absent keys.
func (c *Config) SizeOr(fallback int, field string, keys ...string) int {
	v, key, ok := c.optional(wholeNumber(1, spec.MaxSize(field)), keys...)
	c.setOrigin(field, key)
	if !ok {
		return fallback
	}
	return c.integer(v, key, 1, spec.MaxSize(field))
}

// setOrigin records which key a field of the spec is read from.
func (c *Config) setOrigin(field, key string) { c.root().origin[field] = c.name(key) }

// keyOf returns the key that a field of the spec was read from, with its value: n_head (12).
func (c *Config) keyOf(field string) string {
	r := c.root()
	key := r.origin[field]
	at := r.values
	rest := key
	for {
		before, after, inside := strings.Cut(rest, ".")
		next, isObject := at[before].(map[string]any)
		if !inside || !isObject {
			break
		}
		at, rest = next, after
	}
	if v, ok := at[rest]; ok {
		return fmt.Sprintf("%s (%s)", key, shown(v))
	}
	return key + " (not in the file)"
}

// wholeNumber says in words what a whole number must be.
func wholeNumber(least, most int) string {
	if least == math.MinInt32 {
		return "a whole number of at most 32 bits"
	}
	if most == math.MaxInt32 {
		return fmt.Sprintf("a whole number from %d", least)
	}
	return fmt.Sprintf("a whole number from %d to %d", least, most)
}

// integer returns a whole number. After an error it returns 1 or, if that is too small, least.
func (c *Config) integer(v any, key string, least, most int) int {
	must := wholeNumber(least, most)
	n, ok := v.(json.Number)
	if ok && strings.ContainsAny(n.String(), ".eE") {
		must += ", written without a point and an exponent"
	}
	i, err := n.Int64()
	if !ok || err != nil || i < int64(least) || i > int64(most) {
		c.failValue(key, v, must)
		return max(1, least)
	}
	return int(i)
}

// ints returns a whole number or a list of them. It is nil if the key is absent or null.
func (c *Config) ints(key string) []int {
	v, _ := c.value(key)
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		ids := make([]int, len(v))
		for i, x := range v {
			n, ok := x.(json.Number)
			id, err := n.Int64()
			if !ok || err != nil || id < math.MinInt32 || id > math.MaxInt32 {
				c.failValue(entry(key, i), x, wholeNumber(math.MinInt32, math.MaxInt32))
				return nil
			}
			ids[i] = int(id)
		}
		return ids
	}
	if _, ok := v.(json.Number); !ok {
		c.failValue(key, v, "a whole number or a list of them")
		return nil
	}
	return []int{c.integer(v, key, math.MinInt32, math.MaxInt32)}
}

// Float returns a number, or the fallback if the key is absent.
func (c *Config) Float(key string, fallback float64) float64 {
	v, _, ok := c.optional("a number", key)
	if !ok {
		return fallback
	}
	return c.float(v, key)
}

func (c *Config) float(v any, key string) float64 {
	n, ok := v.(json.Number)
	if !ok {
		c.failValue(key, v, "a number")
		return 1
	}
	f, err := n.Float64()
	if err != nil {
		c.failValue(key, v, "a number of at most 64 bits")
		return 1
	}
	return f
}

// Above returns a number that must be above limit and at most most, or the fallback if the key is
// absent. The fallback need not be in this range. After an error the result is most.
func (c *Config) Above(limit, most float64, key string, fallback float64) float64 {
	v, _, ok := c.optional(between(limit, most), key)
	if !ok {
		return fallback
	}
	f := c.float(v, key)
	if !(f > limit && f <= most) {
		c.failValue(key, v, between(limit, most))
		return most
	}
	return f
}

// between says in words what a number must be.
func between(limit, most float64) string {
	return fmt.Sprintf("a number above %v and at most %v", limit, most)
}

// Epsilon returns what norms add to the variance, which must be above 0 and below 1, or the
// fallback if the key is absent.
func (c *Config) Epsilon(key string, fallback float64) float64 {
	const must = "a number above 0 and below 1"
	c.setOrigin("NormEpsilon", key)
	v, _, ok := c.optional(must, key)
	if !ok {
		return fallback
	}
	f := c.float(v, key)
	if !(f > 0 && f < 1) {
		c.failValue(key, v, must)
		return fallback
	}
	return f
}

// Every returns how many layers a pattern has, the last of which is of another kind. It counts only
// where the list of the layers' kinds is missing. Beside that, the reference implementation takes
// any value, and writes 0 itself for a model without windows.
func (c *Config) Every(fallback int, key, list string) int {
	if c.values[list] != nil {
		c.value(key)
		return fallback
	}
	return c.AtLeast(1, fallback, key)
}

// Bool returns a truth value, or the fallback if the key is absent. Null is false, as in Python.
func (c *Config) Bool(key string, fallback bool) bool {
	if c.isNull(key) {
		return false
	}
	v, _, ok := c.optional("true or false", key)
	if !ok {
		return fallback
	}
	b, ok := v.(bool)
	if !ok {
		c.failValue(key, v, "true or false")
	}
	return b
}

// String returns a text, or the fallback if the key is absent.
func (c *Config) String(key, fallback string) string {
	v, _, ok := c.optional("a text", key)
	if !ok {
		return fallback
	}
	s, ok := v.(string)
	if !ok {
		c.failValue(key, v, "a text")
	}
	return s
}

// Strings returns a list of texts. It is nil if the key is absent or null.
func (c *Config) Strings(key string) []string {
	v, _ := c.value(key)
	list, ok := v.([]any)
	if !ok && v != nil {
		c.failValue(key, v, "a list of texts")
	}
	var out []string
	for i, x := range list {
		s, ok := x.(string)
		if !ok {
			c.failValue(entry(key, i), x, "a text")
			return nil
		}
		out = append(out, s)
	}
	return out
}

// Only reads a truth value that is supported with one value only, which is also the default. A null
// means false.
func (c *Config) Only(key string, want bool) {
	if !want && c.isNull(key) {
		return
	}
	if got := c.Bool(key, want); got != want {
		c.fail("%s is %v, which changes the arithmetic and is not supported; only %v is",
			c.name(key), got, want)
	}
}

// OneOf returns what the value of a key stands for. For an unknown value the error lists the known
// ones.
func OneOf[T any](c *Config, key, fallback string, known map[string]T) T {
	if v, _ := c.fallback(key); v != nil { // of the model_type
		fallback, _ = v.(string)
	}
	name := c.String(key, fallback)
	v, ok := known[name]
	if !ok {
		c.fail("%s %s is not supported; supported are %s", c.name(key), shown(name),
			strings.Join(sortedKeys(known), ", "))
	}
	return v
}

// plainKey returns a key for a message: in quotes if it is not a plain word, and cut if it is long.
func plainKey(key string) string {
	const most = 80
	odd := func(r rune) bool { return r <= ' ' || r == '"' || r == ',' || !strconv.IsPrint(r) }
	if key == "" || strings.ContainsFunc(key, odd) {
		return strconv.Quote(cutTo(key, most))
	}
	return cutTo(key, most)
}
