package chat

import "testing"

// Filters on text.
func TestTextFilters(t *testing.T) {
	checkKnown(t, []knownText{
		{"{{ 'aBc'|upper }}", "ABC"},
		{"{{ 'aBc'|lower }}", "abc"},
		{"{{ 5|upper }}", "5"},
		{"{{ none|lower }}", "none"},
		{"{{ 'hello wORLD'|title }}", "Hello World"},
		{`{{ "it's o'clock"|title }}`, "It's O'clock"},
		{"{{ 'a-b c'|title }}", "A-B C"},
		{"{{ 'hELLO wORLD'|capitalize }}", "Hello world"},
		{"{{ ''|capitalize }}|", "|"},
		{"{{ 'éa'|capitalize }}", "Éa"},
		{"{{ '  a b  '|trim }}|", "a b|"},
		{"{{ 'xxaxx'|trim('x') }}", "a"},
		{"{{ 'xyaxy'|trim('yx') }}", "a"},
		{`{{ '\n\t a'|trim }}`, "a"},
		{"{{ 'aaa'|replace('a', 'b') }}", "bbb"},
		{"{{ 'aaa'|replace('a', 'b', 2) }}", "bba"},
		{"{{ 'abc'|replace('x', 'y') }}", "abc"},
		{"{{ 'aaa'|replace('aa', 'b') }}", "ba"},
		{"{{ 'ab'|replace('', '-') }}", "-a-b-"},
		{"{{ 'ab'|replace('', '-', 2) }}", "-a-b"},
		{"{{ 12|string ~ 3 }}", "123"},
		{"{{ 'x'|string }}", "x"},
		{"{{ none|string }}", "None"},
		{"{{ [1]|string }}", "[1]"},
		{"{{ 'a'|safe }}", "a"},
		{"{{ 'one two  three'|wordcount }}", "3"},
		{"{{ ''|wordcount }}", "0"},
		{`{{ "it's"|wordcount }}`, "2"},
		{"{{ 'a_b-c'|wordcount }}", "2"},
		{`{{ 'a\nb'|indent }}|`, "a\n    b|"},
		{`{{ 'a\nb'|indent(2) }}|`, "a\n  b|"},
		{`{{ 'a\nb'|indent(2, true) }}|`, "  a\n  b|"},
		{`{{ 'a\n\nb'|indent(1) }}|`, "a\n\n b|"},
		{`{{ 'a\n\nb'|indent(1, blank=true) }}|`, "a\n \n b|"},
		{`{{ 'a\nb'|indent('>> ') }}|`, "a\n>> b|"},
		{`{{ 'a\n'|indent(2) }}|`, "a\n|"},
		{"{{ ''|indent(2, true) }}|", "  |"},
		{"{{ 'a'|indent(3, first=true) }}|", "   a|"},
		{`{{ 'a\r\nb'|indent(1) }}|`, "a\n b|"},
	})
}

// length counts characters and items; default replaces what is undefined.
func TestLengthAndDefault(t *testing.T) {
	checkKnown(t, []knownText{
		{"{{ 'abc'|length }}", "3"},
		{"{{ ''|length }}", "0"},
		{"{{ 'é漢🙂'|length }}", "3"},
		{"{{ [1, 2]|length }}", "2"},
		{"{{ ()|length }}", "0"},
		{
			"{{ {'a': 1}|length }} {{ missing|length }} {{ 'ab'|count }} {{ range(5)|length }}",
			"1 0 2 5",
		},
		{"{{ {'a': 1}.items()|length }} {{ messages|count }}", "1 4"},
		{"{{ missing|default('x') }}", "x"},
		{"{{ missing|d('x') }}", "x"},
		{"{{ missing|default }}|", "|"},
		{"{{ none|default('x') }}", "None"},
		{"{{ ''|default('x') }}|", "|"},
		{"{{ 0|default('x') }}", "0"},
		{"{{ false|default('x') }}", "False"},
		{"{{ none|default('x', true) }}", "x"},
		{"{{ ''|default('x', true) }}", "x"},
		{"{{ 0|default('x', boolean=true) }}", "x"},
		{"{{ 'a'|default('x', true) }}", "a"},
		{"{{ [1]|default('x', true) }}", "[1]"},
		{"{{ []|default('x', true) }}", "x"},
		{"{{ messages[0].name|default('nobody') }}", "nobody"},
		{"{{ missing|default(default_value=3) }}", "3"},
	})
}

// Filters on numbers.
func TestNumberFilters(t *testing.T) {
	checkKnown(t, []knownText{
		{"{{ -3|abs }}", "3"},
		{"{{ 3|abs }}", "3"},
		{"{{ -1.5|abs }}", "1.5"},
		{"{{ true|abs }}", "1"},
		{"{{ 0|abs }}", "0"},
		{"{{ '42'|int }}", "42"},
		{"{{ ' 42 '|int }}", "42"},
		{"{{ '-7'|int }}", "-7"},
		{"{{ '4.9'|int }}", "4"},
		{"{{ 'x'|int }}", "0"},
		{"{{ ''|int }}", "0"},
		{"{{ 'x'|int(9) }}", "9"},
		{"{{ 'x'|int(default=9) }}", "9"},
		{"{{ 4.9|int }}", "4"},
		{"{{ -4.9|int }}", "-4"},
		{"{{ true|int }}", "1"},
		{"{{ none|int }}", "0"},
		{"{{ 'ff'|int(0, 16) }}", "255"},
		{"{{ '0xff'|int(0, 16) }}", "255"},
		{"{{ '101'|int(base=2) }}", "5"},
		{"{{ '12'|int(7, 2) }}", "12"},
		{"{{ []|int(3) }}", "3"},
		{"{{ '1.5'|float }}", "1.5"},
		{"{{ 'x'|float }}", "0.0"},
		{"{{ 'x'|float(2.5) }}", "2.5"},
		{"{{ 3|float }}", "3.0"},
		{"{{ true|float }}", "1.0"},
		{"{{ none|float }}", "0.0"},
		{"{{ '1e3'|float }}", "1000.0"},
		{"{{ ' 2 '|float }}", "2.0"},
		{"{{ 'inf'|float }}", "inf"},
		{"{{ 2.5|round }}", "2.0"},
		{"{{ 3.5|round }}", "4.0"},
		{"{{ 2.4|round }}", "2.0"},
		{"{{ -2.5|round }}", "-2.0"},
		{"{{ 7|round }}", "7"},
		{"{{ 2.567|round(2) }}", "2.57"},
		{"{{ 2.567|round(1) }}", "2.6"},
		{"{{ 1234|round(-2) }}", "1200"},
		{"{{ 2.5|round(0, 'common') }}", "2.0"},
		{"{{ 2.1|round(0, 'ceil') }}", "3.0"},
		{"{{ 2.9|round(method='floor') }}", "2.0"},
		{"{{ 2.111|round(2, 'ceil') }}", "2.12"},
		{"{{ -2.1|round(0, 'floor') }}", "-3.0"},
		{"{{ [1, 2, 3]|sum }}", "6"},
		{"{{ []|sum }}", "0"},
		{"{{ [1, 2.5]|sum }}", "3.5"},
		{"{{ [1, 2]|sum(start=10) }}", "13"},
		{"{{ [true, true]|sum }}", "2"},
		{"{{ [{'n': 1}, {'n': 2}]|sum(attribute='n') }}", "3"},
		{"{{ [{'n': 1}]|sum('n', 5) }}", "6"},
	})
}

// Filters that take a list apart or put one together.
func TestListFilters(t *testing.T) {
	checkKnown(t, []knownText{
		{
			"{{ 'abc'|list }} {{ {'a': 1, 'b': 2}|list }} {{ (1, 2)|list }} {{ missing|list }} {{ range(3)|list }}",
			"['a', 'b', 'c'] ['a', 'b'] [1, 2] [] [0, 1, 2]",
		},
		{
			"{{ [1, 2]|first }} {{ []|first }}| {{ 'abc'|first }} {{ {'a': 1}|first }} {{ ([]|first) is undefined }}",
			"1 | a a True",
		},
		{"{{ [1, 2]|last }}", "2"},
		{"{{ []|last }}|", "|"},
		{"{{ 'abc'|last }}", "c"},
		{"{{ (1, 2)|last }}", "2"},
		{"{{ [1, 2, 3]|reverse|list }}", "[3, 2, 1]"},
		{"{{ 'abc'|reverse }}", "cba"},
		{"{{ []|reverse|list }}", "[]"},
		{"{{ 'é漢'|reverse }}", "漢é"},
		{"{{ [1, 'a', none]|join(',') }}", "1,a,None"},
		{"{{ ['a', 'b']|join }}", "ab"},
		{"{{ []|join(',') }}|", "|"},
		{"{{ 'abc'|join('-') }}", "a-b-c"},
		{
			"{{ messages|join('/', attribute='role') }} {{ [1]|join(',') }} {{ {'a': 1, 'b': 2}|join }}",
			"system/user/assistant/user 1 ab",
		},
		{
			"{{ {'a': 1, 'b': [2]}|items|list }} {{ missing|items|list }} {{ {}|items|list }}",
			"[('a', 1), ('b', [2])] [] []",
		},
		{"{{ [1, 2, 1, 3, 2]|unique|list }}", "[1, 2, 3]"},
		{"{{ ['a', 'A', 'b']|unique|list }}", "['a', 'b']"},
		{"{{ ['a', 'A']|unique(case_sensitive=true)|list }}", "['a', 'A']"},
		{
			"{{ messages|unique(attribute='role')|map(attribute='role')|list }}",
			"['system', 'user', 'assistant']",
		},
		{"{{ [1, 1.0, true]|unique|list }}", "[1]"},
		{"{{ messages[0]|attr('keys') is callable }}", "True"},
		{"{{ messages[0]|attr('role') is undefined }}", "True"},
	})
}

// Sorting is stable and ignores case, unless asked otherwise.
func TestSortFilters(t *testing.T) {
	checkKnown(t, []knownText{
		{"{{ [3, 1, 2]|sort }}", "[1, 2, 3]"},
		{"{{ [3, 1, 2]|sort(reverse=true) }}", "[3, 2, 1]"},
		{"{{ []|sort }}", "[]"},
		{"{{ [2.5, 1, true]|sort }}", "[1, True, 2.5]"},
		{"{{ ['b', 'A', 'c']|sort }}", "['A', 'b', 'c']"},
		{"{{ ['b', 'A', 'c']|sort(case_sensitive=true) }}", "['A', 'b', 'c']"},
		{"{{ ['b', 'a', 'B', 'A']|sort }}", "['a', 'A', 'b', 'B']"},
		{
			"{{ ['b', 'a', 'B', 'A']|sort(true) }} {{ 'cab'|sort }} {{ {'b': 1, 'a': 2}|sort }} {{ [[2], [1, 5]]|sort }}",
			"['b', 'B', 'a', 'A'] ['a', 'b', 'c'] ['a', 'b'] [[1, 5], [2]]",
		},
		{
			"{{ [{'n': 2, 'k': 'a'}, {'n': 1, 'k': 'b'}, {'n': 2, 'k': 'c'}]|sort(attribute='n')|map(attribute='k')|join }}",
			"bac",
		},
		{
			"{{ [{'n': 2, 'k': 'a'}, {'n': 1, 'k': 'b'}, {'n': 2, 'k': 'c'}]|sort(attribute='n', reverse=true)|map(attribute='k')|join }}",
			"acb",
		},
		{
			"{{ [{'a': {'b': 2}}, {'a': {'b': 1}}]|sort(attribute='a.b') }}",
			"[{'a': {'b': 1}}, {'a': {'b': 2}}]",
		},
		{"{{ [[2, 'x'], [1, 'y']]|sort(attribute='1') }}", "[[2, 'x'], [1, 'y']]"},
		{"{{ [[2, 'x'], [1, 'y']]|sort(attribute=0) }}", "[[1, 'y'], [2, 'x']]"},
		{
			"{{ {'b': 1, 'a': 2}|dictsort }} {{ {'b': 1, 'a': 2}|dictsort(by='value') }} {{ {'b': 1, 'a': 2}|dictsort(reverse=true) }}",
			"[('a', 2), ('b', 1)] [('b', 1), ('a', 2)] [('b', 1), ('a', 2)]",
		},
		{
			"{{ {'b': 1, 'A': 2}|dictsort }} {{ {'b': 1, 'A': 2, 'a': 3}|dictsort(true) }} {{ {}|dictsort }}",
			"[('A', 2), ('b', 1)] [('A', 2), ('a', 3), ('b', 1)] []",
		},
		{"{{ [3, 1, 2]|min }}", "1"},
		{"{{ [3, 1, 2]|max }}", "3"},
		{"{{ ['b', 'A']|min }}", "A"},
		{"{{ ['b', 'A']|min(case_sensitive=true) }}", "A"},
		{"{{ ['a', 'B']|max }}", "B"},
		{"{{ []|min }}|", "|"},
		{"{{ ([]|max) is undefined }}", "True"},
		{"{{ [{'n': 2}, {'n': 1}]|min(attribute='n') }}", "{'n': 1}"},
		{"{{ 'hello'|max }}", "o"},
		{"{{ [1, true]|max }}", "1"},
	})
}

// map, select, reject and their variants return generators.
func TestSelectFilters(t *testing.T) {
	checkKnown(t, []knownText{
		{"{{ [1, 2, 3]|map('string')|list }}", "['1', '2', '3']"},
		{"{{ ['a', 'b']|map('upper')|join }}", "AB"},
		{"{{ ['a-b', 'c']|map('replace', '-', '+')|list }}", "['a+b', 'c']"},
		{"{{ messages|map(attribute='role')|list }}", "['system', 'user', 'assistant', 'user']"},
		{"{{ [{'a': {'b': 1}}]|map(attribute='a.b')|list }}", "[1]"},
		{"{{ [[1, 2], [3]]|map(attribute=0)|list }}", "[1, 3]"},
		{"{{ [{'a': 1}, {}]|map(attribute='a', default=0)|list }}", "[1, 0]"},
		{"{{ [{'a': 1}, {}]|map(attribute='a')|map('default', 'x')|list }}", "[1, 'x']"},
		{"{{ [[3, 1], [2]]|map('sort')|list }}", "[[1, 3], [2]]"},
		{"{{ ['x', 'yy']|map('length')|sum }}", "3"},
		{"{{ [1, none]|map('default', 'd', true)|list }}", "[1, 'd']"},
		{"{{ []|map('upper')|list }}", "[]"},
		{"{{ 'ab'|map('upper')|list }}", "['A', 'B']"},
		{"{{ [0, 1, '', 'a', none, []]|select|list }}", "[1, 'a']"},
		{"{{ [1, 2, 3, 4]|select('even')|list }}", "[2, 4]"},
		{"{{ [1, 2, 3]|select('divisibleby', 3)|list }}", "[3]"},
		{"{{ [1, 5]|select('>', 2)|list }}", "[5]"},
		{"{{ [0, 1, '', 'a']|reject|list }}", "[0, '']"},
		{"{{ [1, 2, 3, 4]|reject('odd')|list }}", "[2, 4]"},
		{"{{ [1, 2]|reject('==', 1)|list }}", "[2]"},
		{"{{ [1, none]|reject('none')|list }}", "[1]"},
		{"{{ messages|selectattr('role', 'eq', 'user')|list|length }}", "2"},
		{"{{ messages|selectattr('content')|list|length }}", "4"},
		{"{{ [{'a': 0}, {'a': 1}]|selectattr('a')|list }}", "[{'a': 1}]"},
		{
			"{{ messages|rejectattr('role', 'in', ['user', 'system'])|map(attribute='role')|list }}",
			"['assistant']",
		},
		{"{{ [{'a': 0}, {'a': 1}]|rejectattr('a')|list }}", "[{'a': 0}]"},
		{"{{ [{'a': 1}, {}]|selectattr('a', 'defined')|list }}", "[{'a': 1}]"},
		{
			"{{ [{'a': {'b': 1}}, {'a': {'b': 2}}]|selectattr('a.b', 'gt', 1)|list }}",
			"[{'a': {'b': 2}}]",
		},
		{"{{ (messages|selectattr('role', 'equalto', 'tool')|list) == [] }}", "True"},
		{"{{ [1, 2]|select('in', [2])|list }}", "[2]"},
		{
			"{% set g = [1, 2]|select %}{{ g|list }} {{ g|list }} {{ 'true' if g }}",
			"[1, 2] [] true",
		},
		{
			"{% for x in [1, 2, 3]|reject('even') %}{{ x }}{{ ',' if not loop.last }}{% endfor %}",
			"1,3",
		},
	})
}

// round keeps integers, and rounds halves to the even neighbour.
func TestRoundedIntegers(t *testing.T) {
	checkKnown(t, []knownText{
		{"{{ 7|round }}", "7"},
		{"{{ 15|round(-1) }}", "20"},
		{"{{ 25|round(-1) }}", "20"},
		{"{{ 26|round(-1) }}", "30"},
		{"{{ -15|round(-1) }}", "-20"},
		{"{{ -14|round(-1) }}", "-10"},
		{"{{ 1250|round(-2) }}", "1200"},
		{"{{ 5|round(-1) }}", "0"},
		{"{{ 5|round(-30) }}", "0"},
		{"{{ true|round }}", "1"},
		{"{{ 7|round(0, 'ceil') }}", "7.0"},
	})
}

// int takes the prefix of its base, and no other.
func TestBasePrefixes(t *testing.T) {
	checkKnown(t, []knownText{
		{"{{ '0xFF'|int(0, 16) }}", "255"},
		{"{{ '-0x10'|int(0, 16) }}", "-16"},
		{"{{ '0b11'|int(0, 2) }}", "3"},
		{"{{ '0o17'|int(0, 8) }}", "15"},
		{"{{ '0x10'|int(5) }}", "5"},
		{"{{ '0x'|int(5, 16) }}", "5"},
		{"{{ '0b11'|int(5, 8) }}", "5"},
	})
}
