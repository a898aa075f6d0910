package chat

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"
)

// maxTime is how long one template may take until it ends with an error. Some would never end, or
// need more memory than there is. The limit is wide, because the machine may be busy.
const maxTime = 20 * time.Second

func TestLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: with -short it leaves out templates that run until a limit stops them")
	}
	nest := func(n int, open, inner, end string) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
	}
	for name, template := range map[string]string{
		"range":               "{% for a in range(10**9) %}{% endfor %}",
		"nested ranges":       nest(5, "{% for a in range(100000) %}", "x", "{% endfor %}"),
		"nested empty loops":  nest(5, "{% for a in range(100000) %}", "", "{% endfor %}"),
		"filtered loops":      "{% for a in range(100000) %}{% for b in range(100000) if false %}{% endfor %}{% endfor %}",
		"recursive macro":     "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
		"two recursive":       "{% macro m(n) %}{{ m(n) }}{{ m(n) }}{% endmacro %}{{ m(1) }}",
		"recursive default":   "{% macro m(a=m()) %}{% endmacro %}{{ m() }}",
		"tree of macros":      "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
		"recursive loop":      "{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}",
		"doubled string":      "{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
		"doubled list":        "{% set ns = namespace(s=[1]) %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
		"list of itself":      "{% set ns = namespace(s='x') %}{% for i in range(90) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s }}",
		"json of that":        "{% set ns = namespace(s='x') %}{% for i in range(90) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s|tojson }}",
		"comparing that":      "{% set n = namespace(s=1, t=1) %}{% for i in range(90) %}{% set n.s = [n.s, n.s] %}{% set n.t = [n.t, n.t] %}{% endfor %}{{ n.s == n.t }}",
		"repeated string":     "{{ 'x' * 10**12 }}",
		"repeated list":       "{{ ([1] * 10**12)|length }}",
		"repeated by a lot":   "{{ 'xxxxxxxx' * 9223372036854775807 }}",
		"replaced string":     "{% set s = 'x' * 1000000 %}{{ s|replace('x', s) }}",
		"joined":              "{% set s = 'x' * 1000000 %}{{ s.join(range(100000)|map('string')) }}",
		"indented":            "{{ 'x'|indent(10**12, true) }}",
		"json indent":         "{{ [1]|tojson(indent=10**12) }}",
		"written":             "{% set s = 'x' * 1000000 %}{% for i in range(100000) %}{{ s }}{% endfor %}",
		"captured":            "{% set s = 'x' * 1000000 %}{% for i in range(100000) %}{% set t %}{{ s }}{% endset %}{% endfor %}",
		"slices":              "{% set s = 'x' * 1000000 %}{% for i in range(100000) %}{% set t = s[::-1] %}{% endfor %}",
		"searches":            "{% set s = 'x' * 1000000 %}{% for i in range(100000) %}{% for j in range(100000) %}{% set t = s.find('y') %}{% endfor %}{% endfor %}",
		"memberships":         "{% set s = range(100000) %}{% for i in s %}{% set t = -1 in s %}{% endfor %}",
		"sorts":               "{% for i in range(100000) %}{% set t = range(100000)|sort(reverse=true) %}{% endfor %}",
		"maps of filters":     "{% set a = range(100000) %}{% for i in a %}{% set t = a|map('string')|map('length')|sum %}{% endfor %}",
		"split":               "{% set s = 'x ' * 1000000 %}{% for i in range(100000) %}{% set t = s.split() %}{% endfor %}",
		"loops of one item":   nest(90, "{% for a in [1, 2] %}", "", "{% endfor %}"),
		"characters":          "{% set s = 'x' * 1000000 %}{% for c in s %}{% for d in s %}{% endfor %}{% endfor %}",
		"power":               "{{ 9 ** 9 ** 9 }}",
		"product":             "{{ 9223372036854775807 * 2 }}",
		"sum of large":        "{{ 9223372036854775807 + 1 }}",
		"negated smallest":    "{{ -(-9223372036854775807 - 1) }}",
		"divided smallest":    "{{ (-9223372036854775807 - 1) // -1 * 2 }}",
		"nested parentheses":  "{{ " + nest(100_000, "(", "1", ")") + " }}",
		"nested lists":        "{{ " + nest(100_000, "[", "", "]") + " }}",
		"nested not":          "{{ " + strings.Repeat("not ", 100_000) + "1 }}",
		"nested minus":        "{{ " + strings.Repeat("-", 100_000) + "1 }}",
		"nested blocks":       nest(40_000, "{% if true %}", "x", "{% endif %}"),
		"unclosed blocks":     strings.Repeat("{% if true %}", 70_000),
		"nested conditionals": "{{ " + strings.Repeat("1 if 0 else ", 50_000) + "1 }}",
		"chained tests":       "{{ 1 " + strings.Repeat("is in [] ", 1000) + "}}",
		"too large":           strings.Repeat("x", maxTemplate+1),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			_, err := render(template)
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			if name == "chained tests" ||
				name == "divided smallest" { // allowed, or an error: it must end
				err = errors.Join(err, ErrLimit)
			}
			if err == nil || strings.Contains(err.Error(), "internal") {
				t.Errorf("error %v, want one", err)
			}
			if took > maxTime {
				t.Errorf("it took %v, want at most %v", took, maxTime)
			}
			if made := (after.TotalAlloc - before.TotalAlloc) >> 20; made > 2000 {
				t.Errorf("it took %d MiB in all", made)
			}
			t.Logf(
				"%v, %d MiB in all: %.150s",
				took.Round(time.Millisecond),
				(after.TotalAlloc-before.TotalAlloc)>>20,
				err,
			)
		})
	}
}

// render renders one user's message.
func render(template string) (string, error) {
	t, err := New(template, nil)
	if err != nil {
		return "", err
	}
	text, _, err := t.Render([]Message{{Role: "user", Content: "hi"}}, Options{})
	return text, err
}

// The caller can set the budget, and an error names the part of it that is exceeded.
func TestBudget(t *testing.T) {
	tmpl, err := New("{% for i in range(50) %}{{ 'abcdefgh' }}{% endfor %}", nil)
	must(t, err)
	for name, opts := range map[string]Options{
		"steps": {MaxSteps: 60}, "bytes of text": {MaxBytes: 900},
	} {
		if _, _, err := tmpl.Render(nil, opts); !errors.Is(err, ErrLimit) ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v, want ErrLimit", name, err)
		}
	}
	if text, _, err := tmpl.Render(nil, Options{MaxSteps: 1000, MaxBytes: 2000}); err != nil ||
		len(text) != 400 {
		t.Errorf("Render = %d bytes, %v; want 400", len(text), err)
	}
}

// A long conversation of long messages stays within the budget.
func TestLongConversation(t *testing.T) {
	tmpl, err := New(
		"{% for m in messages %}{{ '<' + m.role + '>' + m.content | trim + '\n' }}{% endfor %}",
		nil,
	)
	must(t, err)
	long := strings.Repeat("word ", 1<<20)
	messages := []Message{{Role: "user", Content: long}}
	for range 5000 {
		messages = append(messages, Message{Role: "assistant", Content: "short"})
	}
	if text, _, err := tmpl.Render(messages, Options{}); err != nil || len(text) < 5<<20 {
		t.Errorf("Render = %d bytes, %v", len(text), err)
	}
}
