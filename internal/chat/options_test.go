package chat

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/internal/testhelp"
)

// TestStrftime has what Python's strftime writes for two dates.
func TestStrftime(t *testing.T) {
	for date, cases := range map[time.Time][]struct{ format, want string }{
		time.Date(2026, 3, 5, 7, 8, 9, 0, time.UTC): {
			{"%d", "05"},
			{"%b", "Mar"},
			{"%B", "March"},
			{"%m", "03"},
			{"%y", "26"},
			{"%Y", "2026"},
			{"%H", "07"},
			{"%I", "07"},
			{"%M", "08"},
			{"%S", "09"},
			{"%p", "AM"},
			{"%a", "Thu"},
			{"%A", "Thursday"},
			{"%j", "064"},
			{"%F", "2026-03-05"},
			{"%T", "07:08:09"},
			{"%e", " 5"},
			{"%%", "%"},
			{"%d %b %Y", "05 Mar 2026"},
			{"x%Yy", "x2026y"},
			{"", ""},
			{"%Y-%m-%dT%H:%M:%S", "2026-03-05T07:08:09"},
			{"100%%", "100%"},
		},
		time.Date(2024, 12, 31, 23, 59, 58, 0, time.UTC): {
			{"%d", "31"},
			{"%I", "11"},
			{"%p", "PM"},
			{"%j", "366"},
			{"%y", "24"},
			{"%A", "Tuesday"},
			{"%e", "31"},
			{"%B", "December"},
		},
	} {
		for _, c := range cases {
			tmpl, err := New("{{ strftime_now('"+c.format+"') }}", nil)
			must(t, err)
			if got, _, err := tmpl.Render(nil, Options{Date: date}); err != nil || got != c.want {
				t.Errorf("strftime_now(%q) = %q, %v, want %q", c.format, got, err, c.want)
			}
		}
	}
}

func TestStrftimeRefuses(t *testing.T) {
	date := time.Date(2026, 3, 5, 7, 8, 9, 0, time.UTC)
	for template, want := range map[string]string{
		"{{ strftime_now('%Q') }}":  "directive %Q is unknown; known are %%, %A, %B, %F",
		"{{ strftime_now('a%') }}":  "the format ends with %",
		"{{ strftime_now(5) }}":     "a str is needed, got 'int'",
		"{{ strftime_now() }}":      "an argument is missing",
		"{{ strftime_now(a='x') }}": "strftime_now got an unexpected argument 'a'",
	} {
		tmpl, err := New(template, nil)
		must(t, err)
		if _, _, err := tmpl.Render(nil, Options{Date: date}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", template, err, want)
		}
	}
	tmpl, err := New("{{ strftime_now is defined }}\n{{ strftime_now('%Y') if messages }}", nil)
	must(t, err)
	if got, _, err := tmpl.Render(nil, Options{}); got != "True\n" || err != nil {
		t.Errorf("without a date strftime_now is not defined: %q, %v", got, err)
	}
	_, _, err = tmpl.Render([]Message{{Role: "user"}}, Options{})
	if !errors.Is(err, ErrNoDate) || !strings.Contains(err.Error(), "line 2: ") {
		t.Errorf("error %v, want ErrNoDate in line 2", err)
	}
}

// TestVariableTypes gives variables of every type that is allowed.
func TestVariableTypes(t *testing.T) {
	for _, c := range []struct {
		name     string
		value    any
		template string
		want     string
	}{
		{"nil", nil, "{{ v is none }}", "True"},
		{"bool", true, "{{ v is boolean }} {{ v }}", "True True"},
		{"int", 5, "{{ v is integer }} {{ v + 1 }}", "True 6"},
		{"int64", int64(1 << 40), "{{ v }}", "1099511627776"},
		{"float64", 1.5, "{{ v is float }} {{ v * 2 }}", "True 3.0"},
		{"string", "a{{ b }}", "{{ v }}", "a{{ b }}"},
		{"bad UTF-8", "a\xffb", "{{ v }}", "a\ufffdb"},
		{"list", []any{1, "a", nil}, "{{ v }} {{ v|length }}", "[1, 'a', None] 3"},
		{"map in the order of its keys", map[string]any{"b": 1, "a": 2, "c": 3}, "{{ v }}", "{'a': 2, 'b': 1, 'c': 3}"},
		{"nested", map[string]any{"a": []any{map[string]any{"b": true}}}, "{{ v.a[0].b }}", "True"},
	} {
		tmpl, err := New(c.template, nil)
		must(t, err)
		opts := Options{Variables: map[string]any{"v": c.value}}
		if got, _, err := tmpl.Render(nil, opts); err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

// TestVariablesReplace: a variable replaces a special token, a function and the messages.
func TestVariablesReplace(t *testing.T) {
	tmpl, err := New("{{ bos_token }}{{ messages }}{{ range }}{{ tools }}{{ add_generation_prompt }}",
		map[string]string{"bos_token": "<s>"})
	must(t, err)
	variables := map[string]any{
		"bos_token": 1, "messages": 2, "range": 3, "tools": 4, "add_generation_prompt": 5,
	}
	got, _, err := tmpl.Render(knownMessages, Options{Variables: variables})
	if err != nil || got != "12345" {
		t.Errorf("Render = %q, %v, want 12345", got, err)
	}
}

// TestRenderKeepsMap: a template is a value that later changes of the caller's map do not reach.
func TestRenderKeepsMap(t *testing.T) {
	specials := map[string]string{"bos_token": "<s>"}
	tmpl, err := New("{{ bos_token }}{% set bos_token = 'x' %}{{ bos_token }}", specials)
	must(t, err)
	specials["bos_token"] = "changed"
	for range 2 { // a run does not change the template either
		if got, _, err := tmpl.Render(nil, Options{}); err != nil || got != "<s>x" {
			t.Errorf("Render = %q, %v, want <s>x", got, err)
		}
	}
}

// TestTokens has the tokens of small templates, with their lines.
func TestTokens(t *testing.T) {
	for _, c := range []struct {
		name, source string
		want         []token
	}{
		{"empty", "", []token{{endToken, "", 1}}},
		{"text", "a{b}", []token{{textToken, "a{b}", 1}, {endToken, "", 1}}},
		{"an expression", "{{ x }}", []token{
			{tagBeginToken, "{%", 1},
			{nameToken, printTag, 1},
			{nameToken, "x", 1},
			{tagEndToken, "}}", 1},
			{endToken, "", 1},
		}},
		{"lines", "a\n{% if\n x %}b", []token{
			{textToken, "a\n", 1},
			{tagBeginToken, "{%", 2},
			{nameToken, "if", 2},
			{nameToken, "x", 3},
			{tagEndToken, "%}", 3},
			{textToken, "b", 3},
			{endToken, "", 3},
		}},
		{"kinds", "{% x 'a' 1 2.5 ** // %}", []token{
			{tagBeginToken, "{%", 1},
			{nameToken, "x", 1},
			{stringToken, "'a'", 1},
			{integerToken, "1", 1},
			{floatToken, "2.5", 1},
			{operatorToken, "**", 1},
			{operatorToken, "//", 1},
			{tagEndToken, "%}", 1},
			{endToken, "", 1},
		}},
		{"a comment is no token", "a{# {{ x }} #}b", []token{{textToken, "a", 1}, {textToken, "b", 1}, {endToken, "", 1}}},
		{"raw is text", "{% raw %}{{ x }}{% endraw %}", []token{{textToken, "{{ x }}", 1}, {endToken, "", 1}}},
		{"the line after a comment of two lines", "{# a\nb #}\n{{ 1 }}", []token{
			{tagBeginToken, "{%", 3},
			{nameToken, printTag, 3},
			{integerToken, "1", 3},
			{tagEndToken, "}}", 3},
			{endToken, "", 3},
		}},
	} {
		got, err := lex(c.source)
		diff := cmp.Diff(c.want, got, cmp.AllowUnexported(token{}))
		if err != nil || diff != "" {
			t.Errorf("%s: error %v (-want +got):\n%s", c.name, err, diff)
		}
	}
}

// TestBudgetOf counts what a template spends: with that budget it runs, with one less it does not.
func TestBudgetOf(t *testing.T) {
	for _, c := range []struct {
		name, template string
		steps, bytes   bool // which budget is tried
	}{
		{"statements", "{% set a = 1 %}{% set b = 2 %}{% if a %}{% set c = 3 %}{% endif %}", true, false},
		{"a loop", "{% for i in range(50) %}{% set a = i %}{% endfor %}", true, true},
		{"operators", "{% set a = 1 + 2 * 3 ** 2 %}{% set b = a < 3 %}", true, false},
		{"text", "some text that is written as it stands", false, true},
		{"expressions", "{{ 'a' ~ 'b' }}{{ 'x' * 100 }}{{ [1, 2] + [3] }}", true, true},
		{"filters", "{{ 'abc'|upper|replace('B', 'xyz')|list }}", true, true},
		{"JSON", "{{ {'a': [1, 2, {'b': none}]}|tojson(indent=2) }}", true, true},
		{"a macro", "{% macro m(x) %}{{ x * 3 }}{% endmacro %}{{ m('ab') }}{{ m(7) }}", true, true},
		{"methods", "{{ 'a b c'.split()|join('-') }}{{ 'aXb'.replace('X', 'yy') }}", true, true},
		{"comparisons", "{{ [1, 2, 3] == [1, 2, 4] }}{{ 3 in [1, 2, 3] }}{{ 'b' in 'abc' }}", true, true},
		{"a slice", "{{ 'abcdef'[1:4] }}{{ [1, 2, 3][::-1] }}", true, true},
		{"a captured block", "{% set x %}abc{{ 1 }}{% endset %}{{ x }}", true, true},
	} {
		tmpl, err := New(c.template, nil)
		must(t, err)
		want, _, err := tmpl.Render(nil, Options{})
		must(t, err)
		least := func(options func(n int) Options) int {
			for n := 1; ; n++ {
				got, _, err := tmpl.Render(nil, options(n))
				if err == nil && got == want {
					return n
				}
				if !errors.Is(err, ErrLimit) {
					t.Fatalf("%s: budget %d: %q, %v, want ErrLimit", c.name, n, got, err)
				}
			}
		}
		if c.steps {
			if n := least(func(n int) Options { return Options{MaxSteps: n} }); n < 2 {
				t.Errorf("%s takes %d steps", c.name, n)
			}
		}
		if c.bytes {
			n := least(func(n int) Options { return Options{MaxBytes: n} })
			if n < len(want) {
				t.Errorf("%s makes %d bytes of text with a budget of %d", c.name, len(want), n)
			}
		}
	}
}

// TestDepth allows as many levels as maxDepth says, and no more.
func TestDepth(t *testing.T) {
	nest := func(n int, open, inner, end string) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
	}
	for name, template := range map[string]func(n int) string{
		"blocks": func(n int) string { return nest(n, "{% if true %}", "x", "{% endif %}") },
		"lists":  func(n int) string { return "{% set x = " + nest(n, "[", "", "]") + " %}" },
		"loops": func(n int) string {
			return nest(n, "{% for a in [1] %}", "x", "{% endfor %}")
		},
		"signs": func(n int) string { return "{{ " + strings.Repeat("-", n) + "1 }}" },
	} {
		if _, err := New(template(maxDepth/4), nil); err != nil {
			t.Errorf("%d %s: %v", maxDepth/4, name, err)
		}
		_, err := New(template(2*maxDepth), nil)
		if err == nil || !strings.Contains(err.Error(), "nested deeper than 100") {
			t.Errorf("%d %s: error %v, want one about nesting", 2*maxDepth, name, err)
		}
	}
}

var must = testhelp.Must // ends a test at an error
