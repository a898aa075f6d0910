package family

import (
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/models/spec"
)

// parsed returns a Config over a JSON object.
func parsed(t *testing.T, text string) *Config {
	t.Helper()
	values, err := decode([]byte(text))
	must(t, err)
	return NewConfig("config.json", values)
}

// TestGetters reads one key with one getter. An empty want for the error means that there is none.
func TestGetters(t *testing.T) {
	for _, c := range []struct {
		name, text string
		get        func(c *Config) any
		want       any
		err        string
	}{
		{"size", `{"n":5}`, func(c *Config) any { return c.Size("Layers", "n") }, 5, ""},
		{
			"size under its second name", `{"m":5}`,
			func(c *Config) any { return c.Size("Layers", "n", "m") }, 5, "",
		},
		{
			"size under two names that agree", `{"n":5,"m":5}`,
			func(c *Config) any { return c.Size("Layers", "n", "m") }, 5, "",
		},
		{
			"size under two names that differ", `{"n":5,"m":6}`,
			func(c *Config) any { return c.Size("Layers", "n", "m") }, 5, "both mean the same",
		},
		{
			"size that is missing", `{}`, func(c *Config) any { return c.Size("Layers", "n", "m") },
			1, "key n or m is missing; it must be a whole number from 1 to",
		},
		{
			"size with a fallback", `{}`, func(c *Config) any { return c.SizeOr(7, "Layers", "n") },
			7, "",
		},
		{
			"size of null", `{"n":null}`, func(c *Config) any { return c.SizeOr(7, "Layers", "n") },
			7, "n is null; it must be a whole number from 1 to 1024, or the key left out",
		},
		{
			"size of null that is allowed", `{"n":null}`, func(c *Config) any {
				c.AllowNull("n")
				return c.SizeOr(7, "Layers", "n")
			}, 7, "",
		},
		{
			"null of another key is not allowed", `{"n":null}`, func(c *Config) any {
				c.AllowNull("m")
				return c.SizeOr(7, "Layers", "n")
			}, 7, "n is null",
		},
		{
			"a required size is never null", `{"n":null}`, func(c *Config) any {
				c.AllowNull("n")
				return c.Size("Layers", "n")
			}, 1, "n is null; it must be a whole number",
		},
		{
			"a name with null counts as absent", `{"n":null,"m":3}`,
			func(c *Config) any { return c.Size("Layers", "n", "m") }, 3, "",
		},
		{"int", `{"n":-3}`, func(c *Config) any { return c.Int(1, "n") }, -3, ""},
		{"int with a fallback", `{}`, func(c *Config) any { return c.Int(1, "n") }, 1, ""},
		{
			"int of null that is allowed", `{"n":null}`, func(c *Config) any {
				c.AllowNull("n")
				return c.Int(-1, "n")
			}, -1, "",
		},
		{
			"int with a point", `{"n":3.0}`, func(c *Config) any { return c.Int(1, "n") }, 1,
			"n is 3.0; it must be a whole number of at most 32 bits, written without a point",
		},
		{"least", `{"n":2}`, func(c *Config) any { return c.AtLeast(2, 9, "n") }, 2, ""},
		{
			"below the least", `{"n":1}`, func(c *Config) any { return c.AtLeast(2, 9, "n") }, 2,
			"n is 1; it must be a whole number from 2",
		},
		{
			"fallback below the least", `{}`, func(c *Config) any { return c.AtLeast(2, 0, "n") },
			0, "",
		},
		{"float", `{"x":1e-3}`, func(c *Config) any { return c.Float("x", 2) }, 1e-3, ""},
		{"float with a fallback", `{}`, func(c *Config) any { return c.Float("x", 2) }, 2., ""},
		{
			"upper limit", `{"x":4}`, func(c *Config) any { return c.Above(0, 4, "x", 9) }, 4., "",
		},
		{
			"lower limit", `{"x":0}`, func(c *Config) any { return c.Above(0, 4, "x", 9) }, 4.,
			"x is 0; it must be a number above 0 and at most 4",
		},
		{
			"beyond the limit", `{"x":4.5}`, func(c *Config) any { return c.Above(0, 4, "x", 9) },
			4., "x is 4.5; it must be a number above 0 and at most 4",
		},
		{
			"fallback beyond the limit", `{}`, func(c *Config) any { return c.Above(0, 4, "x", 9) },
			9., "",
		},
		{"epsilon", `{"e":1e-5}`, func(c *Config) any { return c.Epsilon("e", 1) }, 1e-5, ""},
		{
			"epsilon of 1", `{"e":1}`, func(c *Config) any { return c.Epsilon("e", 1e-6) }, 1e-6,
			"e is 1; it must be a number above 0 and below 1",
		},
		{"bool", `{"b":true}`, func(c *Config) any { return c.Bool("b", false) }, true, ""},
		{
			"bool of a number", `{"b":1}`, func(c *Config) any { return c.Bool("b", true) }, false,
			"b is 1; it must be true or false",
		},
		{"text", `{"s":"a"}`, func(c *Config) any { return c.String("s", "z") }, "a", ""},
		{"text with a fallback", `{}`, func(c *Config) any { return c.String("s", "z") }, "z", ""},
		{
			"one of", `{"s":"b"}`, func(c *Config) any {
				return OneOf(c, "s", "a", map[string]int{"a": 1, "b": 2})
			}, 2, "",
		},
		{
			"none of", `{"s":"c"}`, func(c *Config) any {
				return OneOf(c, "s", "a", map[string]int{"b": 2, "a": 1})
			}, 0, `s "c" is not supported; supported are a, b`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := parsed(t, c.text)
			if got := c.get(config); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
			err := config.firstErr()
			if c.err == "" && err != nil {
				t.Errorf("error %v, want none", err)
			}
			if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err) ||
				!strings.HasPrefix(err.Error(), "family: config.json: ")) {
				t.Errorf("error %v, want one with %q", err, c.err)
			}
		})
	}
}

// TestOnly: a truth value that has one supported value. A null is false.
func TestOnly(t *testing.T) {
	for _, c := range []struct {
		text string
		want bool
		ok   bool
	}{
		{`{}`, false, true},
		{`{}`, true, true},
		{`{"b":false}`, false, true},
		{`{"b":true}`, true, true},
		{`{"b":true}`, false, false},
		{`{"b":false}`, true, false},
		{`{"b":null}`, false, true},
		{`{"b":null}`, true, false},
	} {
		config := parsed(t, c.text)
		config.Only("b", c.want)
		if err := config.firstErr(); (err == nil) != c.ok {
			t.Errorf("Only(%v) of %s: error %v", c.want, c.text, err)
		}
	}
}

func TestLists(t *testing.T) {
	c := parsed(t, `{"ids":[1,2],"id":3,"names":["a","b"],"numbers":[1,2.5],"none":null}`)
	if got := c.ints("ids"); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("ints = %v", got)
	}
	if got := c.ints("id"); !slices.Equal(got, []int{3}) {
		t.Errorf("ints of one number = %v", got)
	}
	if got := c.Strings("names"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("Strings = %q", got)
	}
	if got := c.floats("numbers"); !slices.Equal(got, []float64{1, 2.5}) {
		t.Errorf("floats = %v", got)
	}
	for _, key := range []string{"none", "absent"} {
		if c.ints(key) != nil || c.Strings(key) != nil || len(c.floats(key)) != 0 {
			t.Errorf("a list of %s is not empty", key)
		}
	}
	if err := c.firstErr(); err != nil {
		t.Error(err)
	}
}

// TestFirstErrorStays: what follows from the first mistake does not hide it.
func TestFirstErrorStays(t *testing.T) {
	c := parsed(t, `{"a":"x","b":"y"}`)
	c.Int(0, "a")
	c.Int(0, "b")
	if err := c.firstErr(); err == nil || !strings.Contains(err.Error(), "a is") {
		t.Errorf("error %v, want one about a", err)
	}
}

// TestObjects: keys of an inner object are named with its own, and must be read too.
func TestObjects(t *testing.T) {
	c := parsed(t, `{"rope":{"factor":"x","extra":1},"none":null,"number":3}`)
	if c.Object("none") != nil || c.Object("absent") != nil {
		t.Error("an object that is null or absent is not nil")
	}
	if o := c.objectOrEmpty("absent"); o == nil || o.Has("factor") {
		t.Error("objectOrEmpty returns no empty object")
	}
	rope := c.Object("rope")
	if !rope.Has("factor") || rope.Has("absent") {
		t.Error("Has is wrong about an inner object")
	}
	rope.Float("factor", 1)
	if err := c.firstErr(); err == nil || !strings.Contains(err.Error(), `rope.factor is "x"`) {
		t.Errorf("error %v does not name rope.factor", err)
	}
	if err := c.unread(); err == nil || !strings.Contains(err.Error(), "key number, rope.extra") {
		t.Errorf("error %v does not name the keys that were not read", err)
	}
	rope.Int(0, "extra")
	c.Int(0, "number")
	if err := c.unread(); err != nil {
		t.Errorf("all keys were read: error %v", err)
	}
	c = parsed(t, `{"rope":3}`)
	if c.Object("rope"); c.firstErr() == nil {
		t.Error("a number is accepted as an object")
	}
}

// TestKeyOf: an error about a size names the key that the size was read from.
func TestKeyOf(t *testing.T) {
	c := parsed(t, `{"width":12,"rope":{"theta":5}}`)
	c.Size("Width", "hidden", "width")
	c.SizeOr(3, "Heads", "heads")
	c.Object("rope").setOrigin("Rotary", "theta")
	for field, want := range map[string]string{
		"Width":  "width (12)",
		"Heads":  "heads (not in the file)",
		"Rotary": "rope.theta (5)",
	} {
		if got := c.keyOf(field); got != want {
			t.Errorf("keyOf(%s) = %q, want %q", field, got, want)
		}
	}
}

func TestShown(t *testing.T) {
	c := parsed(t, `{"a":[1,[2],{"x":1},4],"b":{"k":[1],"j":"t"},"c":"`+
		strings.Repeat("x", 100)+`","d":null,"e":true,"f":1e5}`)
	for key, want := range map[string]string{
		"a": "[1, […], {…}, …]",
		"b": `{"j": "t", "k": […]}`,
		"c": `"` + strings.Repeat("x", 60) + `…"`,
		"d": "null",
		"e": "true",
		"f": "1e5",
	} {
		if got := shown(c.values[key]); got != want {
			t.Errorf("shown(%s) = %s, want %s", key, got, want)
		}
	}
}

func TestWindows(t *testing.T) {
	odd := func(l int) bool { return l%2 == 1 }
	never := func(int) bool { return false }
	for _, c := range []struct {
		layers, window int
		sliding        func(int) bool
		want           []int
	}{
		{4, 8, odd, []int{0, 8, 0, 8}},
		{4, 0, odd, nil},
		{4, 8, never, nil},
		{0, 8, odd, nil},
		{1 << 20, 8, odd, nil}, // the number of layers is refused elsewhere
	} {
		if got := windows(c.layers, c.window, c.sliding); !slices.Equal(got, c.want) {
			t.Errorf("windows(%d, %d) = %v, want %v", c.layers, c.window, got, c.want)
		}
	}
	if got := len(alibiSlopes(1 << 30)); got != spec.MaxSize("Heads") {
		t.Errorf("%d slopes for too many heads, want %d", got, spec.MaxSize("Heads"))
	}
}
