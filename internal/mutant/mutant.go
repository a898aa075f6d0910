// Package mutant changes JSON at random, as a careless or a hostile writer would. Tests of what
// reads files give it files that are valid:
//
//	v := mutant.Parse(file)
//	v.Damage(r, nil)
//	file = mutant.Scratch(r, v.Text()) // bytes, whatever they mean
//
// All randomness is r, so the same seed makes the same file.
package mutant

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Value is a JSON value that keeps the order of keys and may hold a key twice, unlike Go's maps.
type Value struct {
	// Raw is the text of a scalar, which need not be JSON. It is empty for a list or an object.
	Raw string
	// Keys are the keys of an object, each beside one of Items. A list has Items alone.
	Keys  []string
	Items []*Value
	// List tells a list from an object.
	List bool
}

// Parse reads the JSON of a file of a test. It panics if the file is not valid.
func Parse(text []byte) *Value {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	return parse(dec)
}

// parse reads one value.
func parse(dec *json.Decoder) *Value {
	switch t := token(dec).(type) {
	case json.Delim:
		v := &Value{List: t == '['}
		for dec.More() {
			if !v.List {
				v.Keys = append(v.Keys, token(dec).(string))
			}
			v.Items = append(v.Items, parse(dec))
		}
		token(dec)
		return v
	case string:
		return Scalar(Quote(t))
	case nil:
		return Scalar("null")
	default:
		return Scalar(fmt.Sprint(t))
	}
}

// token returns the next token.
func token(dec *json.Decoder) json.Token {
	t, err := dec.Token()
	if err != nil {
		panic(fmt.Sprintf("a file of the test is not JSON: %v", err))
	}
	return t
}

// Object returns an object of the pairs key, JSON text, key, JSON text …
func Object(pairs ...string) *Value {
	v := &Value{}
	for pair := range slices.Chunk(pairs, 2) {
		v.Set(pair[0], Scalar(pair[1]))
	}
	return v
}

// Scalar returns a value that is written as raw stands.
func Scalar(raw string) *Value { return &Value{Raw: raw} }

// Quote returns a JSON string.
func Quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err) // a string can always be encoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Text returns v as JSON, or as what the damage left of it.
func (v *Value) Text() []byte { return v.append(nil) }

func (v *Value) append(b []byte) []byte {
	if v.Raw != "" {
		return append(b, v.Raw...)
	}
	brackets := "{}"
	if v.List {
		brackets = "[]"
	}
	b = append(b, brackets[0])
	for i, item := range v.Items {
		if i > 0 {
			b = append(b, ",\n"...)
		}
		if !v.List {
			b = append(append(b, Quote(v.Keys[i])...), ':')
		}
		b = item.append(b)
	}
	return append(b, brackets[1])
}

// Get returns the value under a path of keys, nil if there is none.
func (v *Value) Get(path ...string) *Value {
	for _, key := range path {
		i := slices.Index(v.Keys, key)
		if i < 0 {
			return nil
		}
		v = v.Items[i]
	}
	return v
}

// Set puts an item under a key, in place of the first one or at the end.
func (v *Value) Set(key string, item *Value) {
	if i := slices.Index(v.Keys, key); i >= 0 {
		v.Items[i] = item
		return
	}
	v.Keys, v.Items = append(v.Keys, key), append(v.Items, item)
}

// AllKeys adds the keys of v and of what is in it to names, an empty one in quotation marks, as
// messages have it. Vocabularies hold thousands, so it stops at a few hundred.
func (v *Value) AllKeys(names []string) []string {
	const most = 300
	for i, item := range v.Items {
		if len(names) >= most {
			break
		}
		if !v.List {
			names = append(names, cmp.Or(v.Keys[i], `""`))
		}
		names = item.AllKeys(names)
	}
	return names
}

// hostile are values that a file may hold where something else belongs.
var hostile = []string{
	"null", "true", "false", "0", "-1", "1", "2", "3", "5", "7", "-0", "0.0", "0.5", "-0.5", "1.5",
	"1e2", "32.0", "65536", "1000000", "-2147483648", "2147483647", "2147483648", "4294967296",
	"9223372036854775807", "9223372036854775808", "1e300", "-1e300", "1e308", "1e400", "-1e400",
	"1e-320", "1e-400", strings.Repeat("9", 400),
	`""`, `"3"`, `"none"`, `"null"`, `"a"`, `" "`, `"NaN"`, `"gelu"`, `"\u0000"`, `"\ud800"`,
	`"%s%n"`, `"<script>alert(1)</script>"`, `"../../x"`, `"` + strings.Repeat("a", 100_000) + `"`,
	"[]", "{}", "[1]", "[[]]", "[[1]]", "[null]", "[1,2,3]", `["a"]`, `["sliding_attention"]`,
	`{"a":1}`, `{"0":"a","1":"b"}`, `{"rope_type":"yarn"}`, "NaN", "Infinity", "-Infinity",
	"[" + strings.Repeat("1,", 50_000) + "1]", strings.Repeat("[", 60) + strings.Repeat("]", 60),
	strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000),
}

// Damage changes v, an object, in one to three places. Keys of pool may come in at any place.
func (v *Value) Damage(r *rand.Rand, pool []string) {
	for range 1 + r.IntN(3) {
		v.damageOnce(r, pool)
	}
}

// damageOnce changes one entry of v, or of an object or list in it: every entry is as likely to be
// looked at, and every second one that holds others is entered.
func (v *Value) damageOnce(r *rand.Rand, pool []string) {
	if len(v.Items) == 0 {
		return
	}
	at, i := v, r.IntN(len(v.Items))
	for len(at.Items[i].Items) > 0 && r.IntN(2) == 0 {
		at = at.Items[i]
		i = r.IntN(len(at.Items))
	}
	text := string(at.Items[i].Text())
	switch kind := r.IntN(12); {
	case kind == 0: // delete
		at.Items = slices.Delete(at.Items, i, i+1)
		if !at.List {
			at.Keys = slices.Delete(at.Keys, i, i+1)
		}
		return
	case kind == 1: // say it again, otherwise or not
		key := ""
		if !at.List {
			key = at.Keys[i]
		}
		at.insert(r, key, Pick(r, []string{text, Pick(r, hostile)}))
		return
	case kind == 2 && len(pool) > 0: // say what another file says
		at.insert(r, Pick(r, pool), Pick(r, hostile))
		return
	case kind == 3 && !at.List: // spell a key otherwise
		key := at.Keys[i]
		at.Keys[i] = Pick(r, []string{
			strings.ToUpper(key), key + "s", "_" + key, "", key + strings.Repeat("x", 3000),
			strings.ToUpper(key[:min(1, len(key))]) + key[min(1, len(key)):],
		})
		return
	case kind == 4: // copy a value from another place
		text = string(Pick(r, slices.Concat(v.Items, at.Items)).Text())
	case kind == 5: // wrap a value
		text = Pick(r, []string{
			"[" + text + "]", `{"k":` + text + "}", Quote(text), "[" + text + "," + text + "]",
		})
	case kind < 8 && strings.ContainsAny(text[:1], "-0123456789"):
		text = otherNumber(r, text)
	default:
		text = Pick(r, hostile)
	}
	at.Items[i] = Scalar(text)
}

// insert puts an item somewhere, under a key if v is an object.
func (v *Value) insert(r *rand.Rand, key, raw string) {
	i := r.IntN(len(v.Items) + 1)
	v.Items = slices.Insert(v.Items, i, Scalar(raw))
	if !v.List {
		v.Keys = slices.Insert(v.Keys, i, key)
	}
}

// otherNumber returns a number near the one of a text, or the text of a number spelt otherwise.
func otherNumber(r *rand.Rand, text string) string {
	others := []string{
		"-" + text, text + "0", text + "1", text + ".0", text + "e1", "1" + text, text + "e-3",
	}
	if x, err := json.Number(text).Int64(); err == nil {
		others = append(others, fmt.Sprint(Perturb(r, x)), fmt.Sprint(Perturb(r, x)))
	}
	return Pick(r, others)
}

// Perturb returns a number near x, or one that x should not be.
func Perturb(r *rand.Rand, x int64) int64 {
	return Pick(r, []int64{x + 1, x - 1, -x, 2 * x, x / 2, x * 1000, x << 32, 0})
}

// Scratch returns a text with damaged bytes, without regard to what they say.
func Scratch(r *rand.Rand, text []byte) []byte {
	if len(text) == 0 {
		return nil
	}
	at := r.IntN(len(text))
	insert := func(s ...byte) []byte { return slices.Concat(text[:at], s, text[at:]) }
	switch r.IntN(9) {
	case 0:
		return slices.Clone(text[:at])
	case 1:
		return slices.Concat(text[:at], []byte{text[at] ^ 1<<r.IntN(8)}, text[at+1:])
	case 2:
		return slices.Concat(text[:at], []byte{byte(r.IntN(256))}, text[at+1:])
	case 3: // repeat a part
		return slices.Concat(text, text[at:])
	case 4:
		return slices.Concat([]byte("\xef\xbb\xbf"), text)
	case 5:
		return insert(0, 0xff)
	case 6:
		return insert(Pick(r, []byte("{}[]\",:\x00\xff")))
	case 7: // more digits
		return insert([]byte("99999999999999999999")...)
	}
	return slices.Concat(text[:at], text[min(len(text), at+1+r.IntN(64)):])
}

// Pick returns one of several things.
func Pick[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }
