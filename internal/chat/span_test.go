package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// shown writes spans as 0:text for words, 0t:text for label, 0T:text for tools, 0+:text for what
// the template added, and 0w:text for what was thought. With the roles of the messages, it writes
// an s before a kind that has the role of a system and stands at another message.
func shown(text string, spans []Span, of ...string) string {
	var all []string
	for _, s := range spans {
		kind := map[Kind]string{Label: "t", Tools: "T", Added: "+"}[s.Kind]
		if of != nil && s.Role == "system" && of[s.Turn] != "system" {
			kind = "s" + kind
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
		{"nothing of a message", "abc", "0+:abc"},
		{"joined", each + "{{ '<' + m.role + '>' + m.content }}{% endfor %}", ""},
		{"trimmed", "<{{ messages[0].content|trim }}>", "0t:<|0:hi|0t:>"},
		{"cut", "<{{ messages[0].content[1:-1] }}>", "0t:<|0:hi|0t:>"},
		{"cut one by one", "{{ messages[0].content[::-1] }}{{ messages[0].content[1] }}", "0t: |0+:ih h"},
		{"rewritten", "<{{ messages[0].content|upper|replace('H', 'hh') }}>", "0t:< |0:hhI|0t: >"},
		{"as JSON", "{{ messages[0].content|tojson }} {{ ['x', messages[2].n]|tojson }}", "0t:\" |0:hi|0t: |0+:\" [\"x\", {\"k\": [\"x\"]}]"},
		{"printed", "{{ messages[2].n }}!", "0+:{'k': ['x']}!"},
		{"indented", "{{ messages[0].content|indent(2, true) }}", "0t:   |0:hi|0t: "},
		{"captured", "{% set x %}<{{ messages[0].content }}>{% endset %}{{ x|trim ~ '!' }}", "0t:< |0:hi|0t: >!"},
		{"of a macro", "{% macro m(x) %}({{ x }}){% endmacro %}{{ m(messages[0].content) * 2 }}{{ m(messages[0].content) }}", "0t:( |0:hi|0t: )( |0:hi|0t: )( |0:hi|0t: )"},
		{"joined by a method", "{{ ', '.join([messages[0].content, 'z', messages[2].content[0].text]) }}", "0t: |0:hi|0t: |0+:, z, |2:a"},
		{"parts", each + "{% if m.n %}{% for p in m.content %}<{{ p.text }}>{% endfor %}{% endif %}{% endfor %}", "2t:<|2:a|2t:><|2:b|2t:>"},
		{"turns of the template", "^" + each + "[{% if loop.last %}x{% endif %}]{% endfor %}$", "0t:^[]|1t:[]|2t:[x]$"},
		{"turns by index", "{% for i in range(3) %}{% set m = messages[i] %}{{ m.role[0] }}{% endfor %}", "0+:u|1t:a|2+:u"},
		{"thinking", "{{ messages[1].content }}", "1t:<think>\n|1w:why|1t:\n</think>\n\n|1:yes"},
		{"thinking apart", "{% set c = messages[1].content.split('</think>') %}<{{ c[0].split('<think>')[1].strip() }}>{{ c[1]|trim }}", "1t:<|1w:why|1t:>|1:yes"},
		{"same words", "hi{{ 'hi' ~ messages[0].content.strip() ~ 'hi' }}", "0+:hihi|0:hi|0+:hi"},
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

// TestKinds: what stands in a text because of tools, what the template adds by itself, and marks
// and names of roles are told apart, wherever and in whatever form a template writes them. A letter
// before a kind is that of a role that is not the one of the message.
func TestKinds(t *testing.T) {
	const (
		loop   = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
		system = "{% if messages[0].role != 'system' %}<|im_start|>system\nBe of help.{% if tools %}\n\n# Tools\n<tools>\n" +
			"{% for t in tools %}{{ t|tojson }}\n{% endfor %}</tools>{% endif %}<|im_end|>\n{% endif %}"
		out = "{% if messages[0].role == 'system' %}{% set s = messages[0].content %}{% set messages = messages[1:] %}{% endif %}"
	)
	user, asked := Message{Role: "user", Content: "Hi."}, Message{Role: "system", Content: "Rhyme."}
	tools := json.RawMessage(`[{"name":"f","type":"string"}]`)
	for _, c := range []struct {
		name, template, want string
		messages             []Message
		tools                json.RawMessage
	}{
		{"a system prompt of its own", system + loop, "0st:<|im_start|>system\n|0s+:Be of help.|0st:<|im_end|>\n|0t:<|im_start|>user\n|0:Hi.|0t:<|im_end|>\n", []Message{user}, nil},
		{
			"with tools", system + loop, "0st:<|im_start|>system\n|0s+:Be of help.\n|0sT:# Tools\n<tools>\n{\"name\": \"f\", \"type\": \"string\"}|0st:\n</tools><|im_end|>\n|" +
				"0t:<|im_start|>user\n|0:Hi.|0t:<|im_end|>\n", []Message{user}, tools,
		},
		{"no system prompt of its own", system + loop, "0t:<|im_start|>system\n|0:Rhyme.|0t:<|im_end|>\n|1t:<|im_start|>user\n|1:Hi.|1t:<|im_end|>\n", []Message{asked, user}, tools},
		{
			"a header outside of loops", out + "<s><|im_start|>system\n\nToday: Monday\n\n{{ s }}<|im_end|><|im_start|>user\n{% if tools %}Use {{ tools }}\n\n{% endif %}{{ messages[0].content }}",
			"0t:<s><|im_start|>system\n\n|0+:Today: Monday\n\n|0:Rhyme.|0t:<|im_end|>|1t:<|im_start|>user\n|1T:Use [{'name': 'f', 'type': 'string'}]\n\n|1:Hi.", []Message{asked, user}, tools,
		},
		{
			"one key at a time, after the message", loop + "{% for t in tools or [] %}{% for k, v in t|items %}- {{ k }}: {{ v }};\n{% endfor %}{% endfor %}Answer in JSON.\n<|im_start|>assistant\n",
			"0t:<|im_start|>user\n|0:Hi.|0t:<|im_end|>\n|0T:- name: f;\n- type: string;\n|0+:Answer in JSON.|0t:\n<|im_start|>assistant", []Message{user}, tools,
		},
		{
			"before the last message", "{% for m in messages %}{% if loop.last and tools %}[TOOLS] {{ tools|tojson }}[/TOOLS]{% endif %}{% if m.role == 'user' %}[INST] {% endif %}{{ m.content }}{% endfor %}",
			"0t:[INST] |0:Hi.|1:Ho.|2t:[TOOLS] |2T:[{\"name\": \"f\", \"type\": \"string\"}]|2t:[/TOOLS][INST] |2:Hi.", []Message{user, {Role: "assistant", Content: "Ho."}, user}, tools,
		},
		{
			"labels that are words", "A chat between two. {% for m in messages %}{{ {'user': 'HUMAN', 'assistant': 'MODEL'}[m.role] }}: {{ m.content }} {% endfor %}MODEL:",
			"0+:A chat between two.|0t: HUMAN: |0:Hi.|0t: MODEL:", []Message{user}, nil,
		},
		{
			"a template that wants tools", "{{ tools[0].name.upper() }}\nAnd more.\n" + loop, "0sT:F\nAnd more.|0st:\n|0t:<|im_start|>user\n|0:Hi.|0t:<|im_end|>\n", []Message{user}, tools,
		},
		{
			"the form of a call", "{% for m in messages %}<|im_start|>{{ m.role }}\n{% for c in m.tool_calls or [] %}Call of {{ c.name }} now{% endfor %}{{ m.content }}{% endfor %}",
			"0t:<|im_start|>user\n|0:Hi.|1t:<|im_start|>assistant\nCall of |1:f|1t: now|2t:<|im_start|>user\n|2:Hi.", []Message{user, {Object: []byte(`{"role":"assistant","tool_calls":[{"name":"f"}]}`)}, user}, nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			tmpl, err := New(c.template, nil)
			must(t, err)
			text, spans, err := tmpl.Render(c.messages, Options{Tools: c.tools})
			must(t, err)
			var roles []string
			for _, m := range c.messages {
				roles = append(roles, m.Role)
			}
			if got := shown(text, spans, roles...); got != c.want {
				t.Errorf("%s\nspans %q\nwant  %q", c.template, got, c.want)
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
