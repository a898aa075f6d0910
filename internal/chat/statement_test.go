package chat

import "testing"

// if, elif and else.
func TestIf(t *testing.T) {
	checkKnown(t, []knownText{
		{"{% if true %}a{% endif %} {% if false %}a{% endif %}|", "a |"},
		{
			"{% if false %}a{% else %}b{% endif %} {% if 1 > 2 %}a{% elif 2 > 1 %}b{% else %}c{% endif %} {% if 0 %}a{% elif 0 %}b{% else %}c{% endif %}",
			"b b c",
		},
		{
			"{% if 0 %}a{% elif 0 %}b{% elif 1 %}c{% elif 1 %}d{% endif %} {% if [] %}a{% endif %}|{% if [0] %}b{% endif %}",
			"c |b",
		},
		{
			"{% if true %}{% if false %}a{% else %}b{% endif %}{% endif %} {% if missing %}a{% else %}b{% endif %}",
			"b b",
		},
		{
			"{% if 'a' in 'abc' and not false %}yes{% endif %} {% if messages[0].role == 'system' %}system{% endif %}",
			"yes system",
		},
		{"{% if 1, 2 %}tuple{% endif %}", "tuple"},
	})
}

// set gives a name a value, or a block of text.
func TestSet(t *testing.T) {
	checkKnown(t, []knownText{
		{"{% set x = 1 %}{{ x }} {% set x = x + 1 %}{{ x }} {% set x = 'a' %}{{ x }}", "1 2 a"},
		{
			"{% set a, b = 1, 2 %}{{ a }}{{ b }} {% set a, b = b, a %}{{ a }}{{ b }} {% set (c, d) = 'xy' %}{{ c }}{{ d }}",
			"12 21 xy",
		},
		{"{% set x = 1, 2 %}{{ x }} {% set x = [1] if true else [2] %}{{ x }}", "(1, 2) [1]"},
		{
			"{% set x %}a{{ 1 + 1 }}b{% endset %}{{ x }} {{ x is string }} {% set y %}{% endset %}[{{ y }}]",
			"a2b True []",
		},
		{
			"{% set x | upper %}abc{% endset %}{{ x }} {% set x | trim | replace('a', 'b') %} aa {% endset %}{{ x }}",
			"ABC bb",
		},
		{"{% set x %}{% set inner = 1 %}{{ inner }}{% endset %}{{ x }} {{ inner }}|", "1 |"},
		{"{% if true %}{% set x = 5 %}{% endif %}{{ x }}", "5"},
		{"{% set x = 1 %}{% for i in [1] %}{% set x = 2 %}{{ x }}{% endfor %}{{ x }}", "21"},
	})
}

// with, filter blocks, print, raw, comments and generation.
func TestWithFilterPrint(t *testing.T) {
	checkKnown(t, []knownText{
		{
			"{% with a = 1, b = 2 %}{{ a + b }}{% endwith %} {{ a }}| {% with %}{% set q = 1 %}{{ q }}{% endwith %}{{ q }}|",
			"3 | 1|",
		},
		{"{% set a = 1 %}{% with a = 2, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}", "211"},
		{"{% with a = 1 %}{% with a = a + 1 %}{{ a }}{% endwith %}{{ a }}{% endwith %}", "21"},
		{
			"{% filter upper %}a{{ 'b' }}{% endfilter %} {% filter replace('a', 'x') | upper %}aba{% endfilter %} {% filter trim %}  x  {% endfilter %}|",
			"AB XBX x|",
		},
		{"{% print 1 + 2 %} {% print 'a', 'b' %}", "3 ab"},
		{
			"{% raw %}{{ x }} {% if %} {# c #}{% endraw %} {% raw %}{% endraw %}|",
			"{{ x }} {% if %} {# c #} |",
		},
		{"a{# comment #}b {# {{ 1 }} {% if %} #}c {##}d {#-#}e", "ab c de"},
		{
			"{% generation %}text {{ 1 }}{% endgeneration %} {% generation %}{% set z = 1 %}{% endgeneration %}{{ z }}|",
			"text 1 |",
		},
	})
}
