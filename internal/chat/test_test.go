package chat

import "testing"

// Tests for the kind of a value.
func TestKindTests(t *testing.T) {
	checkKnown(t, []knownText{
		{"{{ 1 is integer }}", "True"},
		{"{{ true is integer }}", "False"},
		{"{{ 1.0 is integer }}", "False"},
		{"{{ '1' is integer }}", "False"},
		{"{{ 1 is float }}", "False"},
		{"{{ 1.0 is float }}", "True"},
		{"{{ 1 is number }}", "True"},
		{"{{ 1.5 is number }}", "True"},
		{"{{ true is number }}", "True"},
		{"{{ '1' is number }}", "False"},
		{"{{ 'a' is string }}", "True"},
		{"{{ 1 is string }}", "False"},
		{"{{ none is string }}", "False"},
		{"{{ missing is string }}", "False"},
		{"{{ true is boolean }}", "True"},
		{"{{ 1 is boolean }}", "False"},
		{"{{ true is true }}", "True"},
		{"{{ 1 is true }}", "False"},
		{"{{ false is false }}", "True"},
		{"{{ 0 is false }}", "False"},
		{"{{ none is false }}", "False"},
		{"{{ none is none }}", "True"},
		{"{{ missing is none }}", "False"},
		{"{{ 0 is none }}", "False"},
		{"{{ missing is defined }}", "False"},
		{"{{ none is defined }}", "True"},
		{"{{ missing is undefined }}", "True"},
		{"{{ 'a' is undefined }}", "False"},
		{"{{ messages[0].x is defined }}", "False"},
		{"{{ {} is mapping }} {{ [] is mapping }} {{ 'a' is mapping }}", "True False False"},
		{
			"{{ [] is sequence }} {{ 'a' is sequence }} {{ {} is sequence }} {{ () is sequence }} {{ 1 is sequence }} {{ none is sequence }}",
			"True True True True False False",
		},
		{
			"{{ [] is iterable }} {{ 'a' is iterable }} {{ {} is iterable }} {{ 1 is iterable }} {{ none is iterable }} {{ ([]|select) is iterable }} {{ {}.items() is iterable }}",
			"True True True False False True True",
		},
		{"{{ range is callable }}", "True"},
		{"{{ 'a' is callable }}", "False"},
		{"{{ 'a'.upper is callable }}", "True"},
		{"{{ namespace is callable }}", "True"},
	})
}

// Tests on values, with an argument in brackets or without.
func TestValueTests(t *testing.T) {
	checkKnown(t, []knownText{
		{"{{ 3 is odd }}", "True"},
		{"{{ 4 is odd }}", "False"},
		{"{{ -3 is odd }}", "True"},
		{"{{ 0 is even }}", "True"},
		{"{{ 3 is even }}", "False"},
		{"{{ -2 is even }}", "True"},
		{"{{ 9 is divisibleby 3 }}", "True"},
		{"{{ 9 is divisibleby(2) }}", "False"},
		{"{{ 0 is divisibleby 5 }}", "True"},
		{"{{ -9 is divisibleby 3 }}", "True"},
		{"{{ 'AB' is upper }}", "True"},
		{"{{ 'Ab' is upper }}", "False"},
		{"{{ 'A1' is upper }}", "True"},
		{"{{ '1' is upper }}", "False"},
		{"{{ 'ab' is lower }}", "True"},
		{"{{ 'aB' is lower }}", "False"},
		{"{{ '' is lower }}", "False"},
		{"{{ 1 is eq 1 }}", "True"},
		{"{{ 1 is equalto 2 }}", "False"},
		{"{{ 1 is ne 2 }}", "True"},
		{"{{ 1 is lt 2 }}", "True"},
		{"{{ 1 is lessthan 0 }}", "False"},
		{"{{ 1 is le 1 }}", "True"},
		{"{{ 2 is gt 1 }}", "True"},
		{"{{ 2 is greaterthan 3 }}", "False"},
		{"{{ 2 is ge 3 }}", "False"},
		{"{{ 1 is in [1, 2] }}", "True"},
		{"{{ 'a' is in 'abc' }}", "True"},
		{"{{ 3 is not in [1] }}", "True"},
		{"{{ 'k' is in {'k': 1} }}", "True"},
		{"{{ none is sameas none }}", "True"},
		{"{{ true is sameas true }}", "True"},
		{"{{ 1 is sameas true }}", "False"},
		{"{{ missing is sameas missing }}", "False"},
		{"{{ 'upper' is filter }}", "True"},
		{"{{ 'nosuch' is filter }}", "False"},
		{"{{ 'odd' is test }}", "True"},
		{"{{ 'nosuch' is test }}", "False"},
		{"{{ 1 is not odd }}", "False"},
		{"{{ 2 is not odd }}", "True"},
		{"{{ not 1 is odd }}", "False"},
		{"{{ 1 is odd and 2 is even }}", "True"},
		{"{{ 1 is odd or missing.x }}", "True"},
		{
			"{{ 3 is divisibleby(3) and true }} {{ 1 is eq 1 and 2 is eq 2 }} {{ [1] is eq [1] }} {{ {} is eq {} }} {{ 'x' if 1 is eq 1 else 'y' }}",
			"True True True True x",
		},
		{"{{ (3 is odd) == true }}", "True"},
		{"{{ 3 is odd == true }}", "True"},
	})
}

// sameas compares identity: two equal lists are not the same.
func TestSameAs(t *testing.T) {
	checkKnown(t, []knownText{
		{"{% set a = [1] %}{{ a is sameas a }} {{ a is sameas [1] }}", "True False"},
		{"{% set d = {} %}{{ d is sameas d }} {{ d is sameas {} }}", "True False"},
		{"{{ missing is sameas missing }}", "False"},
		{"{{ none is sameas false }}", "False"},
		{"{{ true is sameas 1 }}", "False"},
		{"{{ 1 is sameas 1.0 }}", "False"},
	})
}
