package chat

import "testing"

// Values are printed as Python prints them: str outside of containers, repr inside.
func TestTextOfValues(t *testing.T) {
	checkKnown(t, []knownText{
		{"{{ 1 }}", "1"},
		{"{{ 1.0 }}", "1.0"},
		{"{{ true }}", "True"},
		{"{{ none }}", "None"},
		{"{{ 'a' }}", "a"},
		{"{{ missing }}|", "|"},
		{
			"{{ [1, 1.0, true, none, 'a'] }} {{ ('a',) }} {{ ('a', 'b') }} {{ {'a': 'b'} }}",
			"[1, 1.0, True, None, 'a'] ('a',) ('a', 'b') {'a': 'b'}",
		},
		{`{{ ["it's"] }}`, `["it's"]`},
		{`{{ ['say "x"'] }}`, `['say "x"']`},
		{`{{ ['it\'s "x"'] }}`, `['it\'s "x"']`},
		{"{{ [''] }}", "['']"},
		{`{{ ['\\'] }}`, `['\\']`},
		{`{{ ['a\nb\tc\rd'] }}`, `['a\nb\tc\rd']`},
		{`{{ ['\x00\x1f\x7f'] }}`, `['\x00\x1f\x7f']`},
		{"{{ ['é漢🙂'] }}", "['é漢🙂']"},
		{`{{ ['\u200b\u2028\ue000'] }}`, `['\u200b\u2028\ue000']`},
		{`{{ ['\u00a0\u00ad'] }}`, `['\xa0\xad']`},
		{`{{ ['\U000e0001'] }}`, `['\U000e0001']`},
		{"{{ 1e16 }}", "1e+16"},
		{"{{ 123456789012345680.0 }}", "1.2345678901234568e+17"},
		{"{{ 0.0001 }}", "0.0001"},
		{"{{ 0.00001 }}", "1e-05"},
		{"{{ -1e-7 }}", "-1e-07"},
		{"{{ 1e100 }}", "1e+100"},
		{"{{ 2.5e-5 }}", "2.5e-05"},
		{"{{ 1e15 }}", "1000000000000000.0"},
		{"{{ 999999999999999.9 }}", "999999999999999.9"},
		{
			"{{ [[], {}, ()] }} {{ {1: {2: [3]}} }} {{ [(1,)] }}",
			"[[], {}, ()] {1: {2: [3]}} [(1,)]",
		},
		{"{{ 1e308 * 10 }}", "inf"},
		{"{{ -(1e308 * 10) }}", "-inf"},
		{"{{ [1e308 * 10 - 1e308 * 10] }}", "[nan]"},
		{"{{ [true, false] }} {{ {none: none} }}", "[True, False] {None: None}"},
	})
}

// What a for statement iterates over.
func TestIteration(t *testing.T) {
	checkKnown(t, []knownText{
		{"{% for x in 'aé漢' %}[{{ x }}]{% endfor %}", "[a][é][漢]"},
		{"{% for x in [1, [2], none] %}[{{ x }}]{% endfor %}", "[1][[2]][None]"},
		{"{% for x in (1, 2) %}[{{ x }}]{% endfor %}", "[1][2]"},
		{"{% for k in {'b': 1, 'a': 2} %}[{{ k }}]{% endfor %}", "[b][a]"},
		{"{% for x in missing %}[{{ x }}]{% else %}nothing{% endfor %}", "nothing"},
		{"{% for x in '' %}x{% else %}empty{% endfor %}", "empty"},
		{"{% for x in range(3) %}{{ x }}{% endfor %}", "012"},
		{"{% for x in [3, 1]|sort %}{{ x }}{% endfor %}", "13"},
		{"{% for a, b in {'x': 1}.items() %}{{ a }}{{ b }}{% endfor %}", "x1"},
		{"{% for a, b in ['xy', 'zw'] %}{{ b }}{{ a }}{% endfor %}", "yxwz"},
		{"{% for a, b, c in [(1, 2, 3)] %}{{ a + b + c }}{% endfor %}", "6"},
		{"{% for (a, b) in [(1, 2)] %}{{ a }}{{ b }}{% endfor %}", "12"},
	})
}
