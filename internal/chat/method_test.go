package chat

import "testing"

// strip, lstrip and rstrip remove a set of characters, white space by default.
func TestStripMethods(t *testing.T) {
	checkKnown(t, []knownText{
		{"{{ '  a b '.strip() }}|", "a b|"},
		{"{{ '  a '.lstrip() }}|", "a |"},
		{"{{ '  a '.rstrip() }}|", "  a|"},
		{"{{ ''.strip() }}|", "|"},
		{"{{ 'xxaxx'.strip('x') }}", "a"},
		{"{{ 'xxaxx'.lstrip('x') }}", "axx"},
		{"{{ 'xxaxx'.rstrip('x') }}", "xxa"},
		{"{{ 'xyxa'.strip('yx') }}", "a"},
		{"{{ 'a'.strip('') }}", "a"},
		{`{{ '\u3000a\u00a0'.strip() }}|`, "a|"},
		{`{{ '\x1ca\x1f'.strip() }}|`, "a|"},
		{`{{ '\u200ba'.strip()|length }}`, "2"},
		{"{{ 'abc'.strip('abc') }}|", "|"},
		{"{{ ' a '.strip(none) }}|", "a|"},
		{"{{ 'éaé'.strip('é') }}", "a"},
		{"{{ '</s>x</s>'.strip('</s>') }}", "x"},
		{"{{ 'xay'.removeprefix('x') }}", "ay"},
		{"{{ 'xay'.removeprefix('y') }}", "xay"},
		{"{{ 'xay'.removesuffix('y') }}", "xa"},
		{"{{ 'xay'.removesuffix('') }}", "xay"},
		{"{{ 'aa'.removeprefix('a') }}", "a"},
	})
}

// split and rsplit; without a separator they split at runs of white space.
func TestSplitMethods(t *testing.T) {
	checkKnown(t, []knownText{
		{"{{ 'a,b,,c'.split(',') }}", "['a', 'b', '', 'c']"},
		{"{{ ''.split(',') }}", "['']"},
		{"{{ 'a'.split(',') }}", "['a']"},
		{"{{ ',a,'.split(',') }}", "['', 'a', '']"},
		{"{{ 'a--b'.split('--') }}", "['a', 'b']"},
		{"{{ 'aaa'.split('aa') }}", "['', 'a']"},
		{"{{ ' a  b c '.split() }}", "['a', 'b', 'c']"},
		{"{{ ''.split() }}", "[]"},
		{"{{ '   '.split() }}", "[]"},
		{`{{ 'a\n\tb\u3000c'.split() }}`, "['a', 'b', 'c']"},
		{"{{ 'a b'.split(none) }}", "['a', 'b']"},
		{"{{ 'a,b,c,d'.split(',', 2) }}", "['a', 'b', 'c,d']"},
		{"{{ 'a,b,c'.split(',', 0) }}", "['a,b,c']"},
		{"{{ 'a,b,c'.split(',', -1) }}", "['a', 'b', 'c']"},
		{"{{ 'a,b'.split(',', 9) }}", "['a', 'b']"},
		{"{{ 'a,b,c'.split(sep=',', maxsplit=1) }}", "['a', 'b,c']"},
		{"{{ ' a  b  c '.split(none, 1) }}", "['a', 'b  c ']"},
		{"{{ ' a  b  c '.split(none, 0) }}", "['a  b  c ']"},
		{"{{ ' a  b '.split(none, 5) }}", "['a', 'b']"},
		{"{{ 'a b c'.split(maxsplit=1) }}", "['a', 'b c']"},
		{"{{ '  '.split(none, 1) }}", "[]"},
		{"{{ 'a,b,c,d'.rsplit(',', 2) }}", "['a,b', 'c', 'd']"},
		{"{{ 'a,b,c'.rsplit(',') }}", "['a', 'b', 'c']"},
		{"{{ 'a,b,c'.rsplit(',', 0) }}", "['a,b,c']"},
		{"{{ 'a'.rsplit(',', 1) }}", "['a']"},
		{"{{ 'aaa'.rsplit('aa', 1) }}", "['a', '']"},
		{"{{ ' a  b  c '.rsplit(none, 1) }}", "[' a  b', 'c']"},
		{"{{ ' a  b  c '.rsplit(none, 0) }}", "[' a  b  c']"},
		{"{{ ' a  b '.rsplit(none, 5) }}", "['a', 'b']"},
		{"{{ 'a b c'.rsplit() }}", "['a', 'b', 'c']"},
		{`{{ 'a\u3000b'.rsplit(none, 1) }}`, "['a', 'b']"},
		{`{{ 'a\nb\r\nc\rd'.splitlines() }}`, "['a', 'b', 'c', 'd']"},
		{`{{ 'a\n'.splitlines() }}`, "['a']"},
		{`{{ '\n'.splitlines() }}`, "['']"},
		{"{{ ''.splitlines() }}", "[]"},
		{`{{ 'a\n\nb'.splitlines() }}`, "['a', '', 'b']"},
		{`{{ 'a\nb\r\n'.splitlines(true) }}`, `['a\n', 'b\r\n']`},
		{`{{ 'a\u2028b\u0085c\x1cd\ve\ff'.splitlines() }}`, "['a', 'b', 'c', 'd', 'e', 'f']"},
		{`{{ 'a\n'.splitlines(keepends=true) }}`, `['a\n']`},
		{`{{ 'a\r\n\r\nb'.splitlines(true) }}`, `['a\r\n', '\r\n', 'b']`},
	})
}

// Methods that look for a text; positions count characters.
func TestSearchMethods(t *testing.T) {
	checkKnown(t, []knownText{
		{"{{ 'abc'.startswith('ab') }}", "True"},
		{"{{ 'abc'.startswith('b') }}", "False"},
		{"{{ 'abc'.startswith('') }}", "True"},
		{"{{ 'abc'.startswith(('x', 'a')) }}", "True"},
		{"{{ 'abc'.startswith(()) }}", "False"},
		{"{{ 'abc'.endswith('bc') }}", "True"},
		{"{{ 'abc'.endswith('b') }}", "False"},
		{"{{ 'abc'.endswith(('b', 'c')) }}", "True"},
		{"{{ ''.endswith('') }}", "True"},
		{"{{ 'abcabc'.find('c') }}", "2"},
		{"{{ 'abcabc'.rfind('c') }}", "5"},
		{"{{ 'abc'.find('x') }}", "-1"},
		{"{{ 'abc'.rfind('x') }}", "-1"},
		{"{{ 'é漢a'.find('a') }}", "2"},
		{"{{ 'aé漢é'.rfind('é') }}", "3"},
		{"{{ 'abc'.find('') }}", "0"},
		{"{{ 'abc'.rfind('') }}", "3"},
		{"{{ 'abcabc'.count('b') }}", "2"},
		{"{{ 'aaa'.count('aa') }}", "1"},
		{"{{ 'abc'.count('x') }}", "0"},
		{"{{ 'abc'.count('') }}", "4"},
		{"{{ ''.count('') }}", "1"},
		{"{{ 'aXbX'.replace('X', '--') }}", "a--b--"},
		{"{{ 'aXbX'.replace('X', '', 1) }}", "abX"},
		{"{{ 'aa'.replace('a', 'aa') }}", "aaaa"},
		{"{{ 'a'.replace('a', 'b', 0) }}", "a"},
		{"{{ 'ab'.replace('', '.') }}", ".a.b."},
		{"{{ 'ab'.replace('a', 'x', -1) }}", "xb"},
		{"{{ '-'.join(['a', 'b']) }}", "a-b"},
		{"{{ ''.join(['a', 'b']) }}", "ab"},
		{"{{ ','.join([]) }}|", "|"},
		{"{{ ', '.join('abc') }}", "a, b, c"},
		{"{{ '-'.join({'a': 1, 'b': 2}) }}", "a-b"},
		{"{{ '-'.join(['x']) }}", "x"},
	})
}

// Methods on the case and the kind of characters.
func TestCaseMethods(t *testing.T) {
	checkKnown(t, []knownText{
		{"{{ 'aBc'.upper() }}", "ABC"},
		{"{{ 'aBc'.lower() }}", "abc"},
		{"{{ 'É'.lower() }}", "é"},
		{"{{ ''.upper() }}|", "|"},
		{"{{ 'hello world'.title() }}", "Hello World"},
		{`{{ "they're".title() }}`, "They'Re"},
		{"{{ 'a1b'.title() }}", "A1B"},
		{"{{ 'HELLO'.title() }}", "Hello"},
		{"{{ ''.title() }}|", "|"},
		{"{{ 'hELLO wORLD'.capitalize() }}", "Hello world"},
		{"{{ '1a'.capitalize() }}", "1a"},
		{"{{ ''.capitalize() }}|", "|"},
		{"{{ 'éA'.capitalize() }}", "Éa"},
		{"{{ '12'.isdigit() }}", "True"},
		{"{{ '1a'.isdigit() }}", "False"},
		{"{{ ''.isdigit() }}", "False"},
		{"{{ '٣'.isdigit() }}", "True"},
		{"{{ '-1'.isdigit() }}", "False"},
		{"{{ '1.5'.isdigit() }}", "False"},
		{"{{ 'ab'.isalpha() }}", "True"},
		{"{{ 'a1'.isalpha() }}", "False"},
		{"{{ ''.isalpha() }}", "False"},
		{"{{ 'é漢'.isalpha() }}", "True"},
		{"{{ 'a b'.isalpha() }}", "False"},
		{"{{ 'ab1'.isalnum() }}", "True"},
		{"{{ 'a_'.isalnum() }}", "False"},
		{"{{ ''.isalnum() }}", "False"},
		{"{{ ' '.isspace() }}", "True"},
		{`{{ '\n\t'.isspace() }}`, "True"},
		{"{{ ''.isspace() }}", "False"},
		{"{{ 'a '.isspace() }}", "False"},
		{"{{ 'AB'.isupper() }}", "True"},
		{"{{ 'A1'.isupper() }}", "True"},
		{"{{ '1'.isupper() }}", "False"},
		{"{{ 'Ab'.isupper() }}", "False"},
		{"{{ 'ab'.islower() }}", "True"},
		{"{{ 'a1'.islower() }}", "True"},
		{"{{ ''.islower() }}", "False"},
		{"{{ 'aB'.islower() }}", "False"},
	})
}

// Methods of dicts and lists that change nothing.
func TestCollectionMethods(t *testing.T) {
	checkKnown(t, []knownText{
		{
			"{{ {'a': 1, 'b': 2}.items()|list }} {{ {}.items()|list }} {{ {'a': 1}.keys()|list }} {{ {'a': 1, 'b': [2]}.values()|list }}",
			"[('a', 1), ('b', 2)] [] ['a'] [1, [2]]",
		},
		{
			"{{ {'a': 1}.get('a') }} {{ {'a': 1}.get('b') }} {{ {'a': 1}.get('b', 5) }} {{ {'a': none}.get('a', 5) }} {{ {1: 'x'}.get(1.0) }}",
			"1 None 5 None x",
		},
		{"{{ [1, 2, 1].index(1) }}", "0"},
		{"{{ [1, 2].index(2) }}", "1"},
		{"{{ ['a'].index('a') }}", "0"},
		{"{{ (5, 6).index(6) }}", "1"},
		{"{{ [1, true].index(true) }}", "0"},
		{"{{ [1, 2, 1].count(1) }}", "2"},
		{"{{ [1, 2].count(3) }}", "0"},
		{"{{ [].count(1) }}", "0"},
		{"{{ (1, 1.0, true).count(1) }}", "3"},
		{"{{ ['a', 'A'].count('a') }}", "1"},
		{
			"{% for k, v in {'x': 1, 'y': 2}.items() %}{{ k }}{{ v }}{% endfor %} {% for v in {'x': 1}.values() %}{{ v }}{% endfor %} {% for k in {'x': 1}.keys() %}{{ k }}{% endfor %}",
			"x1y2 1 x",
		},
		{"{{ {'a': 1}.items()|first }} {{ {'a': 1}.keys()|length }}", "('a', 1) 1"},
	})
}

// split takes overlapping separators from the left, rsplit from the right.
func TestOverlappingSeparators(t *testing.T) {
	checkKnown(t, []knownText{
		{"{{ 'aaa'.split('aa') }}", "['', 'a']"},
		{"{{ 'aaa'.rsplit('aa') }}", "['a', '']"},
		{"{{ 'aaaa'.rsplit('aa') }}", "['', '', '']"},
		{"{{ 'aaaaa'.rsplit('aa', 1) }}", "['aaa', '']"},
		{"{{ 'x--y--z'.rsplit('--', 1) }}", "['x--y', 'z']"},
		{"{{ 'x--y--z'.rsplit('--', 5) }}", "['x', 'y', 'z']"},
	})
}
