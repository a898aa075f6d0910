package mutation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// value is a JSON value that keeps the order of keys and may hold a key twice, unlike Go's maps.
type value struct {
	// raw is the text of a scalar; an object has keys beside its items, a list has items alone.
	raw   string
	list  bool
	keys  []string
	items []*value
}

// parse reads the JSON of a seed file, which is valid.
func parse(text []byte) *value {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	v, err := parseValue(dec)
	if err != nil {
		panic(fmt.Sprintf("mutation: a seed file is not JSON: %v", err))
	}
	return v
}

func parseValue(dec *json.Decoder) (*value, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	delim, ok := token.(json.Delim)
	if !ok {
		raw, err := json.Marshal(token)
		return &value{raw: string(raw)}, err
	}
	v := &value{list: delim == '['}
	for dec.More() {
		if !v.list {
			key, err := dec.Token()
			if err != nil {
				return nil, err
			}
			v.keys = append(v.keys, key.(string))
		}
		item, err := parseValue(dec)
		if err != nil {
			return nil, err
		}
		v.items = append(v.items, item)
	}
	_, err = dec.Token()
	return v, err
}

// object returns an object of the pairs key, JSON text, key, JSON text …
func object(pairs ...string) *value {
	v := &value{keys: []string{}, items: []*value{}}
	for i := 0; i < len(pairs); i += 2 {
		v.keys = append(v.keys, pairs[i])
		v.items = append(v.items, scalar(pairs[i+1]))
	}
	return v
}

// scalar returns a value that is written as raw stands.
func scalar(raw string) *value { return &value{raw: raw} }

// text returns v as JSON, or as what the damage left of it.
func (v *value) text() []byte {
	var b bytes.Buffer
	v.write(&b)
	return b.Bytes()
}

func (v *value) write(b *bytes.Buffer) {
	switch {
	case v.isObject():
		b.WriteByte('{')
		for i, item := range v.items {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(quote(v.keys[i]))
			b.WriteByte(':')
			item.write(b)
		}
		b.WriteByte('}')
	case v.list:
		b.WriteByte('[')
		for i, item := range v.items {
			if i > 0 {
				b.WriteByte(',')
			}
			item.write(b)
		}
		b.WriteByte(']')
	default:
		b.WriteString(v.raw)
	}
}

func (v *value) isObject() bool { return !v.list && v.raw == "" }

// quote returns a JSON string.
func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err) // a string can always be encoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// get returns the value under a path of keys, nil if there is none.
func (v *value) get(path ...string) *value {
	for _, key := range path {
		i := v.index(key)
		if i < 0 {
			return nil
		}
		v = v.items[i]
	}
	return v
}

func (v *value) index(key string) int {
	for i, k := range v.keys {
		if k == key {
			return i
		}
	}
	return -1
}

// set puts an item under a key, in place of the first one or at the end.
func (v *value) set(key string, item *value) {
	if i := v.index(key); i >= 0 {
		v.items[i] = item
		return
	}
	v.keys, v.items = append(v.keys, key), append(v.items, item)
}

// allKeys adds the keys of v and of what is in it to names. Vocabularies hold thousands, so it
// stops at a few hundred.
func (v *value) allKeys(names []string) []string {
	const most = 300
	for i, item := range v.items {
		if len(names) >= most {
			break
		}
		if v.isObject() {
			name := v.keys[i]
			if name == "" { // a message has to quote it
				name = `""`
			}
			names = append(names, name)
		}
		names = item.allKeys(names)
	}
	return names
}

// hostile are values that a file may hold where something else belongs.
var hostile = []string{
	"null", "true", "false", "0", "-1", "1", "2", "3", "7", "-0", "0.5", "-0.5", "1e2", "1e308",
	"1e400", "-1e400", "2147483648", "9223372036854775807", "9223372036854775808", "1e-320",
	"65536", "1000000", `""`, `"3"`, `"none"`, `"a"`, `" "`, `"\u0000"`, `"\ud800"`, `"%s%n"`,
	`"<script>alert(1)</script>"`,
	`"../../x"`, `"` + strings.Repeat("a", 100_000) + `"`,
	"[]", "{}", "[[]]", "[null]", "[1,2,3]", `{"a":1}`,
	"NaN", "Infinity", "-Infinity", "[" + strings.Repeat("1,", 50_000) + "1]",
	strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000),
}

// damage changes v, an object, in one to three places.
func (v *value) damage(r *rand.Rand) {
	for range 1 + r.IntN(3) {
		v.damageOnce(r)
	}
}

// damageOnce changes one entry of v, or of an object or list in it: every entry is as likely to be
// looked at, and every second one that holds others is entered.
func (v *value) damageOnce(r *rand.Rand) {
	if len(v.items) == 0 {
		return
	}
	at, i := v, r.IntN(len(v.items))
	for len(at.items[i].items) > 0 && r.IntN(2) == 0 {
		at = at.items[i]
		i = r.IntN(len(at.items))
	}
	switch r.IntN(8) {
	case 0: // delete
		at.items = append(at.items[:i:i], at.items[i+1:]...)
		if at.isObject() {
			at.keys = append(at.keys[:i:i], at.keys[i+1:]...)
		}
	case 1: // say it again, otherwise
		again := scalar(pick(r, hostile))
		if at.isObject() {
			at.keys = append(at.keys, at.keys[i])
		}
		at.items = append(at.items, again)
	case 2: // move a value to another place
		at.items[i] = pick(r, at.items)
		if at.items[i] == at {
			at.items[i] = scalar("null")
		}
	case 3: // spell a key otherwise
		if at.isObject() {
			key := at.keys[i]
			at.keys[i] = pick(r, []string{strings.ToUpper(key), key + "s", "_" + key, ""})
			return
		}
		fallthrough
	case 4: // perturb a number
		if n := json.Number(at.items[i].raw); n != "" {
			if x, err := n.Int64(); err == nil {
				at.items[i] = scalar(fmt.Sprint(perturb(r, x)))
				return
			}
		}
		fallthrough
	default:
		at.items[i] = scalar(pick(r, hostile))
	}
}

// perturb returns a number near x, or one that x should not be.
func perturb(r *rand.Rand, x int64) int64 {
	return pick(r, []int64{x + 1, x - 1, -x, 2 * x, x / 2, x * 1000, x << 32, 0})
}

// scratch damages bytes without regard to what they say.
func scratch(r *rand.Rand, text []byte) []byte {
	text = bytes.Clone(text)
	if len(text) == 0 {
		return text
	}
	at := r.IntN(len(text))
	switch r.IntN(6) {
	case 0:
		return text[:at]
	case 1:
		text[at] ^= byte(1 << r.IntN(8))
	case 2:
		text = append(text, text[at:]...)
	case 3:
		text = append([]byte("\xef\xbb\xbf"), text...)
	case 4:
		text = append(text[:at:at], append([]byte{0, 0xff}, text[at:]...)...)
	case 5:
		text = append(text[:at:at], text[min(len(text), at+1+r.IntN(64)):]...)
	}
	return text
}
