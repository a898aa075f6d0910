package chat

import "testing"

// tojson is the filter of transformers: json.dumps without escapes for HTML.
func TestToJSON(t *testing.T) {
	checkKnown(t, []knownText{
		{"{{ none|tojson }}", "null"},
		{"{{ true|tojson }}", "true"},
		{"{{ false|tojson }}", "false"},
		{"{{ 1|tojson }}", "1"},
		{"{{ -1.5|tojson }}", "-1.5"},
		{"{{ 1.0|tojson }}", "1.0"},
		{"{{ 'a'|tojson }}", `"a"`},
		{
			"{{ []|tojson }} {{ {}|tojson }} {{ [1, [2, {}]]|tojson }} {{ (1, 2)|tojson }} {{ {'a': 1, 'b': [true, none]}|tojson }}",
			`[] {} [1, [2, {}]] [1, 2] {"a": 1, "b": [true, null]}`,
		},
		{`{{ 'a"b\\c/d'|tojson }}`, `"a\"b\\c/d"`},
		{`{{ 'a\nb\tc\rd\be\ff'|tojson }}`, `"a\nb\tc\rd\be\ff"`},
		{`{{ '\x00\x1f\x7f'|tojson }}`, "\"\\u0000\\u001f\x7f\""},
		{`{{ 'é漢🙂\u2028'|tojson }}`, "\"é漢🙂\u2028\""},
		{`{{ '<b>&\''|tojson }}`, `"<b>&'"`},
		{`{{ 'é漢🙂\x7f'|tojson(ensure_ascii=true) }}`, `"\u00e9\u6f22\ud83d\ude42\u007f"`},
		{"{{ ['é']|tojson(true) }}", `["\u00e9"]`},
		{
			"{{ {'b': 1, 'a': 2}|tojson }} {{ {'b': 1, 'a': 2}|tojson(sort_keys=true) }}",
			`{"b": 1, "a": 2} {"a": 2, "b": 1}`,
		},
		{
			"{{ {1: 'x', 1.5: 'y', none: 'z'}|tojson }} {{ {true: 1}|tojson }}",
			`{"1": "x", "1.5": "y", "null": "z"} {"true": 1}`,
		},
		{
			"{{ [1, 2]|tojson(separators=(',', ':')) }} {{ {'a': 1}|tojson(separators=['; ', ' = ']) }}",
			`[1,2] {"a" = 1}`,
		},
		{
			"{{ [1, {'a': [2]}]|tojson(indent=2) }}",
			"[\n  1,\n  {\n    \"a\": [\n      2\n    ]\n  }\n]",
		},
		{
			"{{ [1, []]|tojson(indent=1) }} {{ {'a': {}}|tojson(indent=1) }}",
			"[\n 1,\n []\n] {\n \"a\": {}\n}",
		},
		{"{{ [1]|tojson(indent=0) }}", "[\n1\n]"},
		{"{{ {'a': [1, 2]}|tojson(indent='--') }}", "{\n--\"a\": [\n----1,\n----2\n--]\n}"},
		{"{{ [1, 2]|tojson(indent=1, separators=(',', ': ')) }}", "[\n 1,\n 2\n]"},
		{"{{ [1e16, 1e-5, 0.1]|tojson }}", "[1e+16, 1e-05, 0.1]"},
		{"{{ [1e308 * 10, -1e308 * 10]|tojson }}", "[Infinity, -Infinity]"},
		{"{{ messages[0]|tojson }}", `{"role": "system", "content": "  Be kind.\n"}`},
	})
}
