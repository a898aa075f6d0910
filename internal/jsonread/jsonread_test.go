package jsonread_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/jsonread"
)

// whole reads a text that is one value.
func whole(r *jsonread.Reader) (any, error) {
	v, err := r.Any()
	if err == nil {
		err = r.End()
	}
	return v, err
}

// TestWrong: an error tells where a text stops being JSON, by line or byte and by pointer, and what
// is there.
func TestWrong(t *testing.T) {
	deep := `{"a":` + strings.Repeat("[", 10001)
	for text, want := range map[string]string{
		"":                              "not valid JSON at byte 1: the text ends too early",
		"{":                             "not valid JSON at byte 2: the text ends too early",
		"hello":                         `not valid JSON at byte 1: unexpected "hello"`,
		`{"a"`:                          "at byte 5, in /a: the text ends too early",
		`{"a":1,}`:                      `at byte 7: unexpected ",}"`,
		"{\n\"a\":{\"b\":[1,{\"c\":nul": "in line 2, in /a/b/1/c: the text ends too early",
		`{"a":{"b":[1,{"c":nul}]}}`:     `in /a/b/1/c: unexpected "}]}}"`,
		`{"a":"\ud800"}`:                `at byte 7, in /a: \ud800 is half of a character; write both`,
		`{"a":"\ude00\ud83d"}`:          `\ude00 is half of a character`,
		`{"a":"\uzzzz"}`:                `in /a: unexpected "\\uzzzz\"}"`,
		`{"a":"\x"}`:                    `in /a: unexpected "\\x\"}"`,
		"{\"a\":\"x\ny\"}":              `in /a: unexpected "\ny\"}"`,
		"{\"a\":\"\xff\"}":              "not valid UTF-8",
		`{"a" 1}`:                       `unexpected "1}"`,
		`{"a":1 "b":2}`:                 `unexpected "\"b\":2}"`,
		`{"a":01}`:                      `unexpected "1}"`,
		`{} {}`:                         "not valid JSON: there is more after the value",
		`{"a":{"k":1,"k":2}}`:           `key "k" comes twice`,
		`{"a":NaN}`:                     `in /a: unexpected "NaN}"`,
		deep:                            "more than 10000 lists and objects within one another",
	} {
		_, err := whole(jsonread.New([]byte(text)))
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 300 {
			t.Errorf("%.40q: error %v, want %q", text, err, want)
		}
	}
}

// TestRules: Python and Rust take the last value of a key; halves of characters are for each.
func TestRules(t *testing.T) {
	read := map[string]func([]byte) *jsonread.Reader{
		"strict": jsonread.New, "Rust": jsonread.AsRust, "lenient": jsonread.Lenient,
		"Python": jsonread.AsPython,
	}
	for _, c := range []struct {
		text string
		want any
		by   string
	}{
		{`[true,null,"é",-1.50]`, []any{true, nil, "é", json.Number("-1.50")}, "strict Rust lenient Python"},
		{`{"k":1,"k":2}`, map[string]any{"k": json.Number("2")}, "Rust lenient Python"},
		{`"\ud800"`, "\uFFFD", "lenient Python"},
		{`[NaN,-Infinity,"NaN"]`, []any{json.Number("NaN"), json.Number("-Infinity"), "NaN"}, "Python"},
		{`nan`, nil, ""}, {`- NaN`, nil, ""}, {"\"\xff\"", nil, ""},
	} {
		for name, reader := range read {
			got, err := whole(reader([]byte(c.text)))
			if strings.Contains(c.by, name) != (err == nil) {
				t.Errorf("%s of %s: error %v", c.text, name, err)
			}
			if err == nil && !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s of %s is %v, want %v", c.text, name, got, c.want)
			}
		}
	}
}

// TestNumber: the number that stands for NaN is one where NaN is none.
func TestNumber(t *testing.T) {
	const text = "1e919191"
	if got, err := jsonread.AsRust([]byte(text)).Number(); got != text || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}

// TestRaw: a value stands as in the text, and a wrong kind is named.
func TestRaw(t *testing.T) {
	r := jsonread.New([]byte(` { "a" : [ 1, {"k":1,"k":2} ] , "b" : "x" } `))
	got := map[string]string{}
	err := r.Object(func(key string) error {
		if key == "b" {
			return r.List(nil)
		}
		raw, err := r.Raw()
		got[key] = string(raw)
		return err
	})
	if got["a"] != `[ 1, {"k":1,"k":2} ]` {
		t.Errorf("a is %s", got["a"])
	}
	if err == nil || err.Error() != `"x" is not a list` {
		t.Errorf("error %v", err)
	}
}

// TestShorten keeps errors short, and on one line.
func TestShorten(t *testing.T) {
	for in, want := range map[string]string{
		"1": "1", "{\n  \"a\": 1\n}": `{ "a": 1 }`, "a\xffb": "a?b",
		strings.Repeat("x", 60): strings.Repeat("x", 60),
		strings.Repeat("é", 61): strings.Repeat("é", 60) + "...",
	} {
		if got := jsonread.Shorten([]byte(in)); got != want {
			t.Errorf("Shorten(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestInto decodes into a type what has its keys alone, each once.
func TestInto(t *testing.T) {
	type inner struct {
		N int `json:"n"`
	}
	for text, want := range map[string]string{
		`{"a":[{"n":3}]}`:         "",
		`{"a":[{"n":3,"m":1}]}`:   `unknown field "m"`,
		`{"a":[{"n":3,"n":4}]}`:   `key "n" comes twice`,
		`{"a":[{"n":3}]} {}`:      "not valid JSON: there is more after the value",
		`{"a":[{"n":"3"}]}`:       "json: cannot unmarshal string into Go struct field inner.a.n of type int",
		`{"b":"\ud800"}`:          `at byte 7, in /b: \ud800 is half of a character; write both halves`,
		`{"a":`:                   "the text ends too early",
		strings.Repeat("[", 1e5):  "more than 10000 lists and objects within one another",
		`{"a":[{"n":99999999999]`: "unexpected",
	} {
		var v struct {
			A []inner `json:"a"`
		}
		err := jsonread.Into([]byte(text), &v)
		if want == "" && (err != nil || len(v.A) != 1 || v.A[0].N != 3) {
			t.Errorf("%.40s: %v, %v", text, v, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.40s: error %v, want %q", text, err, want)
		}
	}
}
