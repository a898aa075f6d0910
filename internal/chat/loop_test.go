package chat

import "testing"

// The attributes of loop.
func TestLoopVariables(t *testing.T) {
	checkKnown(t, []knownText{
		{
			"{% for x in 'abc' %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }} {% endfor %}",
			"1032 2121 3210 ",
		},
		{
			"{% for x in 'abc' %}{{ loop.first }}-{{ loop.last }} {% endfor %}",
			"True-False False-False False-True ",
		},
		{
			"{% for x in 'abc' %}{{ loop.length }}{% endfor %} {% for x in 'a' %}{{ loop.first and loop.last }}{% endfor %}",
			"333 True",
		},
		{
			"{% for x in 'abc' %}[{{ loop.previtem }}{{ x }}{{ loop.nextitem }}]{% endfor %} {% for x in 'a' %}{{ loop.previtem is undefined }}{{ loop.nextitem is defined }}{% endfor %}",
			"[ab][abc][bc] TrueFalse",
		},
		{
			"{% for x in range(5) %}{{ loop.cycle('a', 'b', 'c') }}{% endfor %} {% for x in range(2) %}{{ loop.cycle('z') }}{% endfor %}",
			"abcab zz",
		},
		{
			"{% for x in [1, 1, 2, 2, 1] %}{{ loop.changed(x) }} {% endfor %} {% for x in [1, 2] %}{{ loop.changed() }} {% endfor %}",
			"True False True False True  True False ",
		},
		{
			"{% for a in 'xy' %}{% for b in '12' %}{{ loop.index }}{{ loop.depth }}{% endfor %}{{ loop.index }}{{ loop.depth0 }} {% endfor %}",
			"112110 112120 ",
		},
		{
			"{% for a in 'xy' %}{% set outer = loop %}{% for b in '12' %}{{ outer.index }}{{ loop.index }} {% endfor %}{% endfor %}",
			"11 12 21 22 ",
		},
		{
			"{{ loop is defined }}{% for x in 'a' %}{{ loop.nosuch is defined }}{% endfor %}{{ loop is defined }}",
			"FalseFalseFalse",
		},
	})
}

// Conditions, else, break and continue.
func TestLoopControl(t *testing.T) {
	checkKnown(t, []knownText{
		{
			"{% for x in range(6) if x is even %}{{ x }}{{ loop.index }} {% endfor %} {% for x in range(3) if x > 9 %}x{% else %}none{% endfor %}",
			"01 22 43  none",
		},
		{
			"{% for x in range(6) if x % 2 and x > 1 %}{{ x }}/{{ loop.length }} {% endfor %}",
			"3/2 5/2 ",
		},
		{
			"{% for x in range(9) %}{% if x == 3 %}{% break %}{% endif %}{{ x }}{% endfor %} {% for x in range(5) %}{% if x is odd %}{% continue %}{% endif %}{{ x }}{% endfor %}",
			"012 024",
		},
		{
			"{% for x in [1, 2] %}{{ x }}{% else %}else{% endfor %} {% for x in [] %}{{ x }}{% else %}else{% endfor %}",
			"12 else",
		},
		{
			"{% for x in [1] %}{% break %}{% else %}else{% endfor %} {% for x in [1, 2] %}{% continue %}{% else %}else{% endfor %} {% for x in [1, 2] %}{% if loop.last %}{% break %}{% endif %}{% else %}else{% endfor %}",
			"else else ",
		},
		{
			"{% for a in 'xy' %}{% for b in '12' %}{% if b == '2' %}{% break %}{% endif %}{{ a }}{{ b }}{% endfor %}|{% endfor %}",
			"x1|y1|",
		},
		{
			"{% for a in 'xyz' %}{% if a == 'y' %}{% continue %}{% endif %}{% for b in '1' %}{{ a }}{{ b }}{% endfor %}{% endfor %}",
			"x1z1",
		},
		{"{% for x in [1] %}{% with y = x %}{% break %}{% endwith %}{% endfor %}ok", "ok"},
		{
			"{% set y = 2 %}{% for x in [1, 2, 3] if x == y %}{{ x }}{% endfor %} {% for x in [[1, 2], [3]] %}{% for y in x %}{{ y }}{% endfor %},{% endfor %}",
			"2 12,3,",
		},
	})
}

// Names set in an iteration are unknown after it.
func TestLoopScope(t *testing.T) {
	checkKnown(t, []knownText{
		{
			"{% set x = 0 %}{% for i in [1, 2] %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}",
			"120",
		},
		{
			"{% for i in [1] %}{% set y = 1 %}{% endfor %}{{ y }}| {% for i in [1, 2] %}{{ i }}{% endfor %}{{ i }}|",
			"| 12|",
		},
		{
			"{% for i in [1, 2] %}{{ seen is defined }}{% set seen = true %}{{ seen }} {% endfor %}",
			"FalseTrue FalseTrue ",
		},
		{"{% set i = 'outer' %}{% for i in [1] %}{{ i }}{% endfor %}{{ i }}", "1outer"},
	})
}

// A recursive loop calls itself with other items.
func TestRecursiveLoop(t *testing.T) {
	checkKnown(t, []knownText{
		{
			"{% for x in [[1, [2, 3]], 4] recursive %}{% if x is iterable %}[{{ loop(x) }}]{% else %}{{ x }}{% endif %}{% endfor %}",
			"[1[23]]4",
		},
		{
			"{% for x in [{'n': 'a', 'c': [{'n': 'b', 'c': []}]}] recursive %}{{ x.n }}{{ loop.depth }}{{ loop.depth0 }}{% if x.c %}({{ loop(x.c) }}){% endif %}{% endfor %}",
			"a10(b21)",
		},
	})
}
