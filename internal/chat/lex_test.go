package chat

import "testing"

// White space around tags, with trim_blocks and lstrip_blocks as transformers sets them.
func TestWhiteSpace(t *testing.T) {
	for _, c := range []struct{ name, template, want string }{
		{
			"a line with only a statement disappears",
			"a\n{% if true %}\nb\n{% endif %}\nc", "a\nb\nc",
		},
		{
			"indent before a statement disappears, other text stays",
			"a\n  {% if true %}\n  b\n  {% endif %}\nc", "a\n  b\nc",
		},
		{"inside a line, spaces stay", "a {% if true %} b {% endif %} c", "a  b  c"},
		{"an expression removes no line break", "a\n{{ 1 }}\nb", "a\n1\nb"},
		{"an expression removes no indent", "  {{ 1 }}  ", "  1  "},
		{"a minus sign removes all white space on its side", "a {{- 1 -}} b", "a1b"},
		{"minus signs in statements", "a\n\n  {%- if true -%}\n\n  b  {%- endif -%}  \n c", "abc"},
		{"a plus sign keeps the indent", "a\n  {%+ if true %}b{% endif %}", "a\n  b"},
		{"a plus sign keeps the line break", "a{% if true +%}\nb{% endif %}", "a\nb"},
		{"a comment removes its line", "a\n  {# c #}\nb", "a\nb"},
		{"minus signs in comments", "a {#- c -#} b", "ab"},
		{"a plus sign in a comment keeps the indent", "a\n  {#+ c #}\nb", "a\n  b"},
		{"several statements", "{% set x = 1 %}\n{% set y = 2 %}\n{{ x }}{{ y }}", "12"},
		{"one line break at the end of the template disappears", "x\n", "x"},
		{"only one", "x\n\n", "x\n"},
		{`line breaks of other systems become \n`, "a\r\nb\rc", "a\nb\nc"},
		{"also after a statement", "{% if true %}\r\nx{% endif %}", "x"},
		{
			"a list over several lines",
			"{% for i in [1, 2] %}\n- {{ i }}\n{% endfor %}\nend", "- 1\n- 2\nend",
		},
		{"tabs are white space", "\t{% if true %}\n\tx\n\t{% endif %}", "\tx\n"},
		{"white space around raw", "a{% raw %}\n  x\n  {% endraw %}\nb", "a\n  x\nb"},
		{"minus signs around raw", "a {%- raw -%} x {%- endraw -%} b", "axb"},
		{"expressions one after the other", "{{ 1 }}{{ 2 }}\n{{ 3 }}", "12\n3"},
		{"line breaks inside a tag", "{{\n1\n+\n2\n}}", "3"},
		{"no spaces in a tag", "{%if true%}x{%endif%}{{1}}", "x1"},
		{
			"brackets that are no tags",
			"{ { 1 } } {% raw %}{{{% endraw %} {x} %} }}", "{ { 1 } } {{ {x} %} }}",
		},
		{"white space of Unicode", "a\u00a0{%- if true %}b{% endif %}", "ab"},
		{"nothing", "{% if true %}{% endif %}", ""},
		{"brackets that look like the end of a tag", "{{ {'a': {'b': 1}}['a']['b'] }}", "1"},
		{"ends of tags in strings", "{{ '}}' }}{% if '%}' %}x{% endif %}", "}}x"},
	} {
		if got, err := renderKnown(c.template); err != nil || got != c.want {
			t.Errorf("%s: Render(%q) = %q, %v, want %q", c.name, c.template, got, err, c.want)
		}
	}
}
