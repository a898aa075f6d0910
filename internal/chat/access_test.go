package chat

import "testing"

// A dot looks for an attribute first, a bracket for an item first.
func TestAttributes(t *testing.T) {
	checkKnown(t, []knownText{
		{"{{ {'a': 1}.a }} {{ {'a': 1}['a'] }} {{ {'a': 1}.b }}| {{ {'a': 1}['b'] }}|", "1 1 | |"},
		{"{{ {'items': 1}['items'] }} {{ {'items': 1}.items is callable }}", "1 True"},
		{"{{ {'keys': 5}['keys'] }} {{ {'x': 5}['keys'] is callable }}", "5 True"},
		{"{{ messages[0].role }}", "system"},
		{"{{ messages[0]['role'] }}", "system"},
		{"{{ messages.0.role }}", "system"},
		{"{{ [10, 20].1 }}", "20"},
		{"{{ [10, 20][1] }}", "20"},
		{"{{ [10, 20][-1] }}", "20"},
		{"{{ [10, 20][-2] }}", "10"},
		{"{{ [10, 20][2] }}|", "|"},
		{"{{ [10, 20][-3] }}|", "|"},
		{"{{ (1, 2)[0] }}", "1"},
		{"{{ (1, 2)[true] }}", "2"},
		{"{{ 'abc'[0] }}", "a"},
		{"{{ 'abc'[-1] }}", "c"},
		{"{{ 'abc'[3] }}|", "|"},
		{"{{ 'abc'[-4] }}|", "|"},
		{"{{ 'é漢'[1] }}", "漢"},
		{"{{ ''[0] }}|", "|"},
		{"{{ {1: 'int'}[1.0] }} {{ {true: 'x'}[1] }} {{ {none: 'n'}[none] }}", "int x n"},
		{"{{ messages[0].missing is undefined }}", "True"},
		{"{{ messages[99] is undefined }}", "True"},
		{"{{ 5 .x }}|", "|"},
		{"{{ none.x }}|", "|"},
		{"{{ true['x'] }}|", "|"},
		{"{{ {'a': {'b': {'c': 7}}}.a.b.c }} {{ {'a': [1, {'b': 2}]}['a'][1].b }}", "7 2"},
		{"{{ [1, 2]['0'] }}|", "|"},
		{"{{ [1, 2][1.0] }}|", "|"},
		{"{{ [1, 2][none] }}|", "|"},
		{"{% set ns = namespace(a=1) %}{{ ns.a }} {{ ns.b is undefined }}", "1 True"},
	})
}

// Slices clip their bounds and count from the end, as in Python.
func TestSlices(t *testing.T) {
	checkKnown(t, []knownText{
		{"{{ 'abcdef'[1:3] }}", "bc"},
		{"{{ 'abcdef'[:2] }}", "ab"},
		{"{{ 'abcdef'[4:] }}", "ef"},
		{"{{ 'abcdef'[:] }}", "abcdef"},
		{"{{ 'abcdef'[-2:] }}", "ef"},
		{"{{ 'abcdef'[:-2] }}", "abcd"},
		{"{{ 'abcdef'[-4:-2] }}", "cd"},
		{"{{ 'abcdef'[::2] }}", "ace"},
		{"{{ 'abcdef'[1::2] }}", "bdf"},
		{"{{ 'abcdef'[::-1] }}", "fedcba"},
		{"{{ 'abcdef'[4:1:-1] }}", "edc"},
		{"{{ 'abcdef'[1:4:-1] }}|", "|"},
		{"{{ 'abcdef'[4:1] }}|", "|"},
		{"{{ 'abcdef'[9:] }}|", "|"},
		{"{{ 'abcdef'[-99:2] }}", "ab"},
		{"{{ 'abcdef'[::-2] }}", "fdb"},
		{"{{ 'abcdef'[-1:-99:-1] }}", "fedcba"},
		{"{{ 'abcdef'[::99] }}", "a"},
		{"{{ 'abcdef'[5::-99] }}", "f"},
		{"{{ [1, 2, 3][1:] }}", "[2, 3]"},
		{"{{ [1, 2, 3][::-1] }}", "[3, 2, 1]"},
		{"{{ [1, 2, 3][3:] }}", "[]"},
		{"{{ [][1:2] }}", "[]"},
		{"{{ (1, 2, 3)[:2] }}", "(1, 2)"},
		{"{{ (1, 2)[5:] }}", "()"},
		{"{{ 'é漢x'[1:] }}", "漢x"},
		{"{{ ''[::-1] }}|", "|"},
		{"{{ [1, 2, 3][none:2] }}", "[1, 2]"},
		{"{{ [1, 2, 3][:none:none] }}", "[1, 2, 3]"},
		{"{{ [1, 2, 3][true:] }}", "[2, 3]"},
		{"{{ [0, 1, 2, 3, 4][-3:-1] }}", "[2, 3]"},
		{"{{ [0, 1, 2, 3, 4][3:0:-2] }}", "[3, 1]"},
		{"{{ messages[1:]|map(attribute='role')|join(' ') }}", "user assistant user"},
	})
}
