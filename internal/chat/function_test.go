package chat

import "testing"

// range counts as in Python.
func TestRange(t *testing.T) {
	checkKnown(t, []knownText{
		{"{{ range(0)|list }}", "[]"},
		{"{{ range(3)|list }}", "[0, 1, 2]"},
		{"{{ range(-2)|list }}", "[]"},
		{"{{ range(1, 4)|list }}", "[1, 2, 3]"},
		{"{{ range(4, 1)|list }}", "[]"},
		{"{{ range(0, 10, 3)|list }}", "[0, 3, 6, 9]"},
		{"{{ range(10, 0, -4)|list }}", "[10, 6, 2]"},
		{"{{ range(0, 5, -1)|list }}", "[]"},
		{"{{ range(5, 5)|list }}", "[]"},
		{"{{ range(-1, -4, -1)|list }}", "[-1, -2, -3]"},
		{"{{ range(100000)|length }}", "100000"},
		{
			"{{ range(9223372036854775805, 9223372036854775807)|list }}",
			"[9223372036854775805, 9223372036854775806]",
		},
		{"{{ range(true)|list }}", "[0]"},
	})
}

// dict and namespace take a dict and names.
func TestDictAndNamespace(t *testing.T) {
	checkKnown(t, []knownText{
		{"{{ dict() }}", "{}"},
		{"{{ dict(a=1) }}", "{'a': 1}"},
		{"{{ dict({'a': 1}) }}", "{'a': 1}"},
		{"{{ dict({'a': 1}, b=2) }}", "{'a': 1, 'b': 2}"},
		{"{{ dict({'a': 1}, a=2) }}", "{'a': 2}"},
		{
			"{% set ns = namespace() %}{% set ns.x = 1 %}{{ ns.x }} {% set ns.x = ns.x + 1 %}{{ ns.x }}",
			"1 2",
		},
		{"{% set ns = namespace({'a': 1}, b=2) %}{{ ns.a }}{{ ns.b }} {{ ns.c }}|", "12 |"},
		{
			"{% set ns = namespace(n=0) %}{% for i in range(4) %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}",
			"6",
		},
		{
			"{% set ns = namespace(found=false) %}{% for m in messages %}{% if m.role == 'user' %}{% set ns.found = true %}{% endif %}{% endfor %}{{ ns.found }}",
			"True",
		},
	})
}
