package chat

import "testing"

// Macros take arguments by position or name, with defaults.
func TestMacros(t *testing.T) {
	checkKnown(t, []knownText{
		{
			"{% macro m() %}x{% endmacro %}{{ m() }}{{ m() }} {% macro n(a) %}[{{ a }}]{% endmacro %}{{ n(1) }}{{ n('b') }}{{ n() }}",
			"xx [1][b][]",
		},
		{
			"{% macro m(a, b=2, c='x') %}{{ a }}{{ b }}{{ c }} {% endmacro %}{{ m(1) }}{{ m(1, 3) }}{{ m(1, c=5) }}{{ m(c=1, a=2, b=3) }}{{ m(1, 2, 3) }}",
			"12x 13x 125 231 123 ",
		},
		{
			"{% macro m(a=[1], b=a|length) %}{{ a }}{{ b }}{% endmacro %}{{ m() }} {{ m([1, 2, 3]) }} {{ m(b=0) }}",
			"[1]1 [1, 2, 3]3 [1]0",
		},
		{"{% macro m(a) %}{{ a is undefined }}{% endmacro %}{{ m() }} {{ m(none) }}", "True False"},
		{
			"{% macro m(x) %}{{ x * 2 }}{% endmacro %}{{ m(2) ~ m(3) }} {{ m(2) is string }} {{ m('a')|upper }} {% set r = m(4) %}{{ r }}",
			"46 True AA 8",
		},
		{
			"{% set g = 1 %}{% macro m() %}{{ g }}{% endmacro %}{{ m() }} {% set g = 2 %}{{ m() }}",
			"1 2",
		},
		{
			"{% macro m() %}{% set inner = 1 %}{{ inner }}{% endmacro %}{{ m() }}{{ inner }}| {% macro a() %}A{% endmacro %}{% macro b() %}{{ a() }}B{% endmacro %}{{ b() }}",
			"1| AB",
		},
		{
			"{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}",
			"3210",
		},
		{
			"{% for i in [1, 2] %}{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% endfor %} {% macro t(m) %}{{ m.role }}:{{ m.content|trim }}{% endmacro %}{{ t(messages[0]) }}",
			"12 system:Be kind.",
		},
	})
}
