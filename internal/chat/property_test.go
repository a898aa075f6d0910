package chat

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// A template has no state: many goroutines render the same texts as one.
func TestConcurrentRender(t *testing.T) {
	tmpl, err := New("{% macro turn(m) %}{{ m.role|upper }}: {{ m.content|trim }}\n{% endmacro %}"+
		"{% set ns = namespace(n=0) %}{% for m in messages %}{{ turn(m) }}"+
		"{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}{{ bos_token }}{{ who }}",
		map[string]string{"bos_token": "<s>"})
	must(t, err)
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			name := strconv.Itoa(g)
			want := "USER: " + name + "\n1<s>" + name
			for range 20 {
				got, _, err := tmpl.Render([]Message{{Role: "user", Content: " " + name + " "}},
					Options{Variables: map[string]any{"who": name}})
				if err != nil || got != want {
					t.Errorf("goroutine %d: %q, %v, want %q", g, got, err, want)
				}
			}
		})
	}
	all.Wait()
}

// Each rendering has the whole budget: what one spends, the next has again, also after an error.
func TestBudgetIsReleased(t *testing.T) {
	tmpl, err := New("{{ messages[0].content * 3 }}", nil)
	must(t, err)
	small, large := []Message{{Role: "user", Content: "abc"}}, []Message{{Role: "user", Content: strings.Repeat("x", 100)}}
	opts := Options{MaxBytes: 200, MaxSteps: 60}
	for i := range 5 {
		if got, _, err := tmpl.Render(small, opts); err != nil || got != "abcabcabc" {
			t.Fatalf("rendering %d: %q, %v", i, got, err)
		}
		if _, _, err := tmpl.Render(large, opts); !errors.Is(err, ErrLimit) {
			t.Fatalf("rendering %d of a long message: error %v, want ErrLimit", i, err)
		}
	}
}

// A budget that is too small fails at every size below the least, and never above it.
func TestBudgetIsMonotone(t *testing.T) {
	tmpl, err := New("{% for m in messages %}{{ m.content|upper|replace('A', 'bb') ~ loop.index }}"+
		"{% endfor %}{{ messages|map(attribute='role')|list|tojson }}", nil)
	must(t, err)
	messages := []Message{{Role: "user", Content: "banana"}, {Role: "assistant", Content: "bread"}}
	const want = `BbbNbbNbb1BREbbD2["user", "assistant"]`
	for name, options := range map[string]func(n int) Options{
		"steps": func(n int) Options { return Options{MaxSteps: n} },
		"bytes": func(n int) Options { return Options{MaxBytes: n} },
	} {
		enough := 0
		for n := 1; n <= 2000; n++ {
			got, _, err := tmpl.Render(messages, options(n))
			switch {
			case err == nil && got == want:
				if enough == 0 {
					enough = n
				}
			case enough > 0:
				t.Errorf("%d %s are enough, but with %d: %q, %v", enough, name, n, got, err)
			case !errors.Is(err, ErrLimit) || got != "":
				t.Errorf("%d %s: %q, %v, want no text and ErrLimit", n, name, got, err)
			}
		}
		if enough == 0 {
			t.Errorf("2000 %s are not enough", name)
		}
	}
}

// What tojson writes is JSON that has the same value, whatever the options.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{
		"", "a", "\"\\/", "\x00\x1f\x7f", "é漢🙂", "\u2028\u2029",
		"</script>", "a\r\nb\tc", "\ufffe\uffff", "\U0010ffff",
	} {
		f.Add(s, int64(len(s)), 1.5)
	}
	f.Fuzz(func(t *testing.T, s string, i int64, x float64) {
		if len(s) > 1000 || !utf8.ValidString(s) || math.IsInf(x, 0) || math.IsNaN(x) {
			return
		}
		for _, options := range []string{
			"", "(true)", "(indent=2)", "(separators=(',', ':'))",
			"(sort_keys=true)",
		} {
			tmpl, err := New("{{ v|tojson"+options+" }}", nil)
			must(t, err)
			text, _, err := tmpl.Render(nil, Options{
				Variables: map[string]any{"v": map[string]any{"s": s, "i": i, "x": []any{x, s}}},
			})
			if err != nil {
				t.Fatalf("tojson%s of %q: %v", options, s, err)
			}
			var back struct {
				S string
				I int64
				X [2]any
			}
			err = json.Unmarshal([]byte(text), &back)
			if err != nil || back.S != s || back.I != i || back.X != [2]any{x, s} {
				t.Fatalf("tojson%s of %q, %d, %v = %s, which is read as %v, %v", options, s, i, x,
					text, back, err)
			}
			if strings.IndexFunc(text, func(c rune) bool { return c > 0x7e }) >= 0 &&
				options == "(true)" {
				t.Fatalf("tojson%s of %q = %s, want ASCII", options, s, text)
			}
		}
	})
}

// A text without tags is rendered as it stands, and the tokens of any template have lines that do
// not fall and texts that are in it.
func FuzzLex(f *testing.F) {
	rec, _ := loadRecording(f)
	for _, c := range rec.Small {
		f.Add(c.Template)
	}
	for _, s := range []string{
		"{", "{{", "a{# b", "{%-", "{%- raw -%} x {%- endraw -%}", "\r\n\r",
		"{{ '}}' }}", "{#-#}", "a {%+ set x=1 +%}\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		if len(source) > 4096 || !utf8.ValidString(source) {
			return
		}
		tokens, err := lex(source)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "line ") {
				t.Fatalf("lex(%q): error %v without a line", source, err)
			}
			return
		}
		lines := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(source)
		if last := tokens[len(tokens)-1]; last.kind != endToken {
			t.Fatalf("lex(%q) ends with %+v, want the end of the template", source, last)
		}
		rest, line := lines, 1
		for _, token := range tokens {
			if token.line < line {
				t.Fatalf("lex(%q): token %+v is in a line before %d", source, token, line)
			}
			line = token.line
			if token.text == printTag || token.kind == tagBeginToken {
				continue
			}
			at := strings.Index(rest, token.text)
			if at < 0 {
				t.Fatalf("lex(%q): %q is not in the rest %q", source, token.text, rest)
			}
			rest = rest[at+len(token.text):]
		}
		if !strings.Contains(lines, "{{") && !strings.Contains(lines, "{%") &&
			!strings.Contains(lines, "{#") {
			want := strings.TrimSuffix(lines, "\n")
			if got, err := renderKnown(source); err != nil || got != want {
				t.Fatalf("Render(%q) = %q, %v, want %q", source, got, err, want)
			}
		}
	})
}

// Texts of floats are read back as the same float; Python has no other form for them.
func FuzzNumbers(f *testing.F) {
	for _, x := range []float64{
		0, 1, -1, 0.1, 1e16, 1e-5, 1e22, math.MaxFloat64,
		math.SmallestNonzeroFloat64, 2.675, 123456789.125,
	} {
		f.Add(x, "12")
	}
	f.Add(0.5, "٣")
	f.Add(0.5, "-0x_1f")
	f.Fuzz(func(t *testing.T, x float64, s string) {
		text := floatRepr(x)
		back, ok := parseFloat(text)
		if !ok || back != x && !math.IsNaN(x) {
			t.Errorf("parseFloat(%q) = %v, %v, want %v", text, back, ok, x)
		}
		if n, ok := parseInt(s, 10); ok { // then it is also a float, of about the same value
			f, isFloat := parseFloat(s)
			if !isFloat || math.Abs(f-float64(n)) > math.Abs(f)*1e-15 {
				t.Errorf("parseInt(%q) = %d, parseFloat = %v, %v", s, n, f, isFloat)
			}
		}
		for _, precision := range []int{0, 1, 3} {
			got := roundFloat(x, precision)
			half := math.Pow(10, -float64(precision)) / 2
			most := half + math.Abs(x)*0x1p-52 // the result is a float next to the decimal number
			if math.Abs(x) < 1e9 && math.Abs(got-x) > most {
				t.Errorf("roundFloat(%v, %d) = %v", x, precision, got)
			}
		}
	})
}
