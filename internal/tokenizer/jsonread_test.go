package tokenizer

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// jsonTarget has a field of each kind that decodeStrict reads.
type jsonTarget struct {
	Text   string         `json:"text"`
	Flag   bool           `json:"flag"`
	Count  uint32         `json:"count"`
	Signed int            `json:"signed"`
	Real   float64        `json:"real"`
	Some   *string        `json:"some"`
	List   []string       `json:"list"`
	Map    map[string]int `json:"map"`
	Inner  struct {
		A int `json:"a"`
	} `json:"inner"`
}

func TestDecodeStrict(t *testing.T) {
	some := "x"
	for _, c := range []struct {
		name, data string
		want       jsonTarget
	}{
		{"empty", `{}`, jsonTarget{}},
		{"white space", " {\n\t\"text\" : \"a\" }\r\n", jsonTarget{Text: "a"}},
		{"escapes", `{"text":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"}`, jsonTarget{Text: "\"\\/\b\f\n\r\té😀"}},
		{"a flag", `{"flag":true}`, jsonTarget{Flag: true}},
		{"numbers", `{"count":4294967295,"signed":-7,"real":-1.5e3}`, jsonTarget{Count: 4294967295, Signed: -7, Real: -1500}},
		{"null", `{"text":null,"some":null,"list":null,"map":null}`, jsonTarget{}},
		{"a pointer", `{"some":"x"}`, jsonTarget{Some: &some}},
		{"a list", `{"list":["a","b"]}`, jsonTarget{List: []string{"a", "b"}}},
		{"an empty list", `{"list":[]}`, jsonTarget{List: []string{}}},
		{"a map", `{"map":{"a":1,"b":2}}`, jsonTarget{Map: map[string]int{"a": 1, "b": 2}}},
		{"an object", `{"inner":{"a":3}}`, jsonTarget{Inner: struct {
			A int `json:"a"`
		}{3}}},
		{"the last of two values", `{"list":["a"],"list":["b"]}`, jsonTarget{List: []string{"b"}}},
	} {
		var got jsonTarget
		if err := decodeStrict([]byte(c.data), &got); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestDecodeStrictRefuses(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{``, "the text ends too early"},
		{`{`, "the text ends too early"},
		{`{"text"`, "the text ends too early"},
		{`{"text":`, "the text ends too early"},
		{`{"text":"a`, "the text ends too early"},
		{`{"list":["a"`, "the text ends too early"},
		{`{} x`, "there is more after the value"},
		{`[]`, "[] is not an object"},
		{`{"text":1}`, "text: 1 is not a text"},
		{`{"flag":1}`, "flag: 1 is not true or false"},
		{`{"count":-1}`, "count: -1 is not a whole number from 0 to 4294967295"},
		{`{"count":4294967296}`, "count: 4294967296 is not a whole number from 0 to 4294967295"},
		{`{"count":1.5}`, "count: 1.5 is not a whole number"},
		{`{"count":"1"}`, `count: "1" is not a number`},
		{`{"signed":9223372036854775808}`, "signed: 9223372036854775808 is not a whole number"},
		{`{"real":1e999}`, "real: 1e999 is too large a number"},
		{`{"real":1.}`, `in /real: unexpected "}"`},
		{`{"real":01}`, `unexpected "1}"`},
		{`{"list":{}}`, "list: {} is not a list"},
		{`{"list":["a",1]}`, "list[1]: 1 is not a text"},
		{`{"map":[]}`, "map: [] is not an object"},
		{`{"map":{"k":"v"}}`, `map.k: "v" is not a number`},
		{`{"inner":{"b":1}}`, `inner: unknown field "b" (known are a)`},
		{`{"Text":"a"}`, `unknown field "Text" (known are text, flag`},
		{`{"text" "a"}`, `in /text: unexpected "\"a\"}"`},
		{`{"text":"a" "flag":true}`, `unexpected "\"flag\":true}"`},
		{"{\"text\":\"a\nb\"}", `in /text: unexpected "\nb\"}"`},
		{`{"text":"\x"}`, `in /text: unexpected "\\x\"}"`},
		{`{"text":"\ud800"}`, `in /text: \ud800 is half of a character`},
	} {
		err := decodeStrict([]byte(c.data), &jsonTarget{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.data, err, c.want)
		}
	}
}

// TestKindOf finds the type wherever it is in the object.
func TestKindOf(t *testing.T) {
	for data, want := range map[string]string{
		`{"type":"NFC"}`: "NFC", `{"a":{"type":"X"},"type":"Y"}`: "Y", `{}`: "", `{"type":1}`: "",
		`["type"]`: "", `null`: "", `{"type":"A","type":"B"}`: "B", `{"type":"A"`: "", ``: "",
	} {
		if got := kindOf([]byte(data)); got != want {
			t.Errorf("kindOf(%s) = %q, want %q", data, got, want)
		}
	}
}

// TestRustFloat writes numbers as the reference does: as serde_json prints an f64.
func TestRustFloat(t *testing.T) {
	for _, c := range []struct {
		f    float64
		want string
	}{
		{0, "0.0"},
		{1, "1.0"},
		{-1, "-1.0"},
		{1.5, "1.5"},
		{-3.25, "-3.25"},
		{0.1, "0.1"},
		{1e15, "1000000000000000.0"},
		{1e16, "1e16"},
		{1.5e300, "1.5e300"},
		{1e-5, "0.00001"},
		{9e-6, "9e-6"},
		{-2.5e-10, "-2.5e-10"},
		{123456.789, "123456.789"},
		{math.MaxFloat64, "1.7976931348623157e308"},
		{5e-324, "5e-324"},
	} {
		if got := rustFloat(c.f); got != c.want {
			t.Errorf("rustFloat(%v) = %s, want %s", c.f, got, c.want)
		}
	}
}

// TestByteChars checks the table of GPT-2: 188 bytes stand for themselves, 68 for U+0100 and on.
func TestByteChars(t *testing.T) {
	own, next := 0, rune(256)
	for b, r := range byteChar {
		if charByte[r] != byte(b) {
			t.Errorf("byte %#x is written %q, which is read as %#x", b, r, charByte[r])
		}
		switch {
		case r == rune(b):
			own++
		case r == next:
			next++
		default:
			t.Errorf("byte %#x is written %q, want itself or %q", b, r, next)
		}
	}
	if own != 188 || next != 256+68 {
		t.Errorf("%d bytes stand for themselves and %d do not, want 188 and 68", own, next-256)
	}
	for _, c := range []struct{ bytes, content string }{
		{" the", "Ġthe"}, {"\n", "Ċ"}, {"é", "Ã©"}, {"\x00\x7f", "Āġ"}, {"", ""},
	} {
		if got := contentOf(c.bytes); got != c.content {
			t.Errorf("contentOf(%q) = %q, want %q", c.bytes, got, c.content)
		}
		if got := bytesOf(c.content); got != c.bytes {
			t.Errorf("bytesOf(%q) = %q, want %q", c.content, got, c.bytes)
		}
	}
	if got := bytesOf("a b"); got != "a b" {
		t.Errorf("a content with a space spells %q, want itself", got)
	}
}
