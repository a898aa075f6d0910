package chat

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// shown writes spans as 0:text for words, 0t:text for what the template wrote, 0w:text for what was
// thought.
func shown(text string, spans []Span) string {
	var all []string
	for _, s := range spans {
		kind := ""
		if s.Template {
			kind += "t"
		}
		if s.Thinking {
			kind += "w"
		}
		all = append(all, fmt.Sprintf("%d%s:%s", s.Turn, kind, text[s.Begin:s.End]))
	}
	return strings.Join(all, "|")
}

// TestSpans: words of messages are followed through what templates do with them.
func TestSpans(t *testing.T) {
	messages := []Message{
		{Role: "user", Content: " hi "}, {Role: "assistant", Content: "<think>\nwhy\n</think>\n\nyes"},
		{Object: []byte(`{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"n":{"k":["x"]}}`)},
	}
	const each = "{% for m in messages %}"
	for _, c := range []struct{ name, template, want string }{
		{"nothing of a message", "abc", "0t:abc"},
		{"joined", each + "{{ '<' + m.role + '>' + m.content }}{% endfor %}", ""},
		{"trimmed", "<{{ messages[0].content|trim }}>", "0t:<|0:hi|0t:>"},
		{"cut", "<{{ messages[0].content[1:-1] }}>", "0t:<|0:hi|0t:>"},
		{"cut one by one", "{{ messages[0].content[::-1] }}{{ messages[0].content[1] }}", "0t: ih h"},
		{"rewritten", "<{{ messages[0].content|upper|replace('H', 'hh') }}>", "0t:< |0:hhI|0t: >"},
		{"as JSON", "{{ messages[0].content|tojson }} {{ ['x', messages[2].n]|tojson }}", "0t:\" |0:hi|0t: \" [\"x\", {\"k\": [\"x\"]}]"},
		{"printed", "{{ messages[2].n }}!", "0t:{'k': ['x']}!"},
		{"indented", "{{ messages[0].content|indent(2, true) }}", "0t:   |0:hi|0t: "},
		{"captured", "{% set x %}<{{ messages[0].content }}>{% endset %}{{ x|trim ~ '!' }}", "0t:< |0:hi|0t: >!"},
		{"of a macro", "{% macro m(x) %}({{ x }}){% endmacro %}{{ m(messages[0].content) * 2 }}{{ m(messages[0].content) }}", "0t:( |0:hi|0t: )( |0:hi|0t: )( |0:hi|0t: )"},
		{"joined by a method", "{{ ', '.join([messages[0].content, 'z', messages[2].content[0].text]) }}", "0t: |0:hi|0t: , z, |2:a"},
		{"parts", each + "{% if m.n %}{% for p in m.content %}<{{ p.text }}>{% endfor %}{% endif %}{% endfor %}", "2t:<|2:a|2t:><|2:b|2t:>"},
		{"turns of the template", "^" + each + "[{% if loop.last %}x{% endif %}]{% endfor %}$", "0t:^[]|1t:[]|2t:[x]$"},
		{"turns by index", "{% for i in range(3) %}{% set m = messages[i] %}{{ m.role[0] }}{% endfor %}", "0t:u|1t:a|2t:u"},
		{"thinking", "{{ messages[1].content }}", "1t:<think>\n|1w:why|1t:\n</think>\n\n|1:yes"},
		{"thinking apart", "{% set c = messages[1].content.split('</think>') %}<{{ c[0].split('<think>')[1].strip() }}>{{ c[1]|trim }}", "1t:<|1w:why|1t:>|1:yes"},
		{"same words", "hi{{ 'hi' ~ messages[0].content.strip() ~ 'hi' }}", "0t:hihi|0:hi|0t:hi"},
		{"nothing added", "{{ ('' ~ messages[0].content) + '' }}", "0t: |0:hi|0t: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			tmpl, err := New(c.template, nil)
			must(t, err)
			text, spans, err := tmpl.Render(messages, Options{})
			if c.want == "" { // a message whose content is a list cannot be joined
				if err == nil || !strings.Contains(err.Error(), "unsupported operand") {
					t.Errorf("error %v", err)
				}
				return
			}
			if got := shown(text, spans); err != nil || got != c.want {
				t.Errorf("%s: spans %q, %v, want %q", c.template, got, err, c.want)
			}
		})
	}
}

// TestMessageKeys: a template sees a message as transformers gives it.
func TestMessageKeys(t *testing.T) {
	for _, c := range []struct{ object, want string }{
		{`{"content":"a","role":"user","z":{"b":1,"a":2.0}}`, `{"content": "a", "role": "user", "z": {"b": 1, "a": 2.0}}`},
		{`{"role":"assistant","content":null,"tool_calls":[]}`, `{"role": "assistant", "tool_calls": []}`},
		{`{"role":"assistant","reasoning":"r"}`, `{"thinking": "r", "role": "assistant", "reasoning": "r", "reasoning_content": "r"}`},
		{`{"role":"a","role":"b"}`, `{"role": "b"}`},
	} {
		tmpl, err := New("{{ messages[0]|tojson }}", nil)
		must(t, err)
		got, _, err := tmpl.Render([]Message{{Object: []byte(c.object)}}, Options{})
		if err != nil || got != c.want {
			t.Errorf("%s is %s, %v, want %s", c.object, got, err, c.want)
		}
	}
	for object, want := range map[string]string{
		`{`: "message 0: not valid JSON at byte 2", `[]`: "it is a list", `{} {}`: "not valid JSON",
		`{"a":123456789012345678901}`: "does not fit in 64 bits", "\"\xff\"": "not valid UTF-8",
		strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200): "nested deeper than 100",
	} {
		tmpl, _ := New("", nil)
		_, _, err := tmpl.Render([]Message{{Object: []byte(object)}}, Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: error %v, want %q", object, err, want)
		}
	}
}

// A template that puts strings together without end, or prints a long chain of them many times,
// ends within its budget.
func TestSpansAreBounded(t *testing.T) {
	for name, template := range map[string]string{
		"doubled": "{% set n = namespace(x=messages[0].content) %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}{{ n.x }}",
		"a chain": "{% set n = namespace(x=messages[0].content) %}{% for i in range(90000) %}" +
			"{% set n.x = ('b' ~ n.x)[1:] %}{% endfor %}" +
			"{% for i in range(90000) %}{{ n.x }}{% endfor %}",
		"many parts of many pieces": "{% set x %}{% for i in range(90000) %}" +
			"{{ messages[0].content }}{{ i }}{% endfor %}{% endset %}" +
			"{% for part in x.split('h') %}{{ part }}{% endfor %}",
		"a chain that is rewritten": "{% set n = namespace(x=messages[0].content) %}" +
			"{% for i in range(50000) %}{% set n.x = (n.x|replace('h', 'hh'))[1:] %}{% endfor %}{{ n.x }}",
	} {
		t.Run(name, func(t *testing.T) {
			tmpl, err := New(template, nil)
			must(t, err)
			start := time.Now()
			_, _, err = tmpl.Render([]Message{{Role: "user", Content: "h"}}, Options{})
			took := time.Since(start)
			if took > maxTime || err != nil && !errors.Is(err, ErrLimit) {
				t.Errorf("%v, error %v", took, err)
			}
		})
	}
}
