package chat

import (
	"strings"
	"testing"
)

// Syntax errors name the line, the statement and what is wrong.
func TestSyntaxErrors(t *testing.T) {
	for _, c := range []struct{ template, want string }{
		{"{{", "line 1: a tag does not end with }}"},
		{"{{ 1 ", "line 1: a tag does not end with }}"},
		{"{% if true", "line 1: a tag does not end with %}"},
		{"{# x", "line 1: a comment {# does not end"},
		{"{% raw %}x", "line 1: {% raw %} does not end"},
		{"{{ $ }}", "line 1: unexpected character '$'"},
		{`{{ "a }}`, `unexpected character '"'`},
		{"{{ a ! b }}", "unexpected character '!'"},
		{"{{ (1 }}", "unexpected '}'"},
		{"{{ (1] }}", "unexpected ']'"},
		{"{{ 1) }}", "unexpected ')'"},
		{"{{ [1, 2) }}", "unexpected ')'"},
		{"\n\n{{ 1 2 }}", `line 3, {{ }}: unexpected "2"`},
		{"a\nb{% if x y %}{% endif %}", `line 2, if: unexpected "y"`},
		{"{{ }}", "line 1, {{ }}: the tag ends too early"},
		{"{{ 1 + }}", "line 1, {{ }}: the tag ends too early"},
		{"{% %}", "a tag {% %} needs the name of a statement"},
		{
			"{% nosuch %}",
			"nosuch: a statement of this name is not expected here; known are break, continue, filter",
		},
		{"{% endif %}", "endif: a statement of this name is not expected here"},
		{"{% else %}", "else: a statement of this name is not expected here"},
		{"{% if true %}{% endfor %}", "endfor: a statement of this name is not expected here"},
		{"{% if true %}", "elif or else or endif is missing"},
		{"{% if true %}{% else %}", "endif is missing"},
		{
			"{% if true %}{% else %}{% elif true %}{% endif %}",
			"elif: a statement of this name is not expected here",
		},
		{"{% for x in y %}", "else or endfor is missing"},
		{"{% for x in y %}{% else %}", "endfor is missing"},
		{"{% macro m() %}", "endmacro is missing"},
		{"{% set x %}", "endset is missing"},
		{"{% with %}", "endwith is missing"},
		{"{% filter upper %}", "endfilter is missing"},
		{"{% generation %}", "endgeneration is missing"},
		{"{% if true %}{% endif x %}", `endif: unexpected "x"`},
		{"{% for x in y %}{% endfor x %}", `endfor: unexpected "x"`},
		{"{% if %}{% endif %}", "if: the tag ends too early"},
		{"{% for %}{% endfor %}", "for: the tag ends too early"},
		{"{% for x y %}{% endfor %}", `for: expected "in", got "y"`},
		{"{% for x %}{% endfor %}", `for: expected "in" before the end of the tag`},
		{"{% for 1 in y %}{% endfor %}", `for: expected a name, got "1"`},
		{"{% for x.y in z %}{% endfor %}", `for: expected "in", got "."`},
		{"{% break %}", "break: it stands outside of a loop"},
		{"{% continue %}", "continue: it stands outside of a loop"},
		{
			"{% for x in y %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}",
			"break: it stands outside of a loop",
		},
		{
			"{% for x in y %}{% set z %}{% continue %}{% endset %}{% endfor %}",
			"continue: it stands outside of a loop",
		},
		{"{% for x in y %}{% else %}{% break %}{% endfor %}", "break: it stands outside of a loop"},
		{"{% set 1 = 2 %}", `set: expected a name, got "1"`},
		{"{% set true = 2 %}", "set: the constant true cannot be set"},
		{"{% set None = 2 %}", "set: the constant None cannot be set"},
		{"{% set x = %}", "set: the tag ends too early"},
		{"{% set x 1 %}", `set: unexpected "1"`},
		{"{% macro 1() %}{% endmacro %}", `macro: expected a name, got "1"`},
		{"{% macro m %}{% endmacro %}", `macro: expected "(" before the end of the tag`},
		{"{% macro m(a b) %}{% endmacro %}", `macro: expected ",", got "b"`},
		{
			"{% macro m(a=1, b) %}{% endmacro %}",
			"macro: parameter b has no default, but the one before it has",
		},
		{"{% filter nosuch %}{% endfilter %}", `filter "nosuch" is unknown; known are abs, attr`},
		{"{{ 1|nosuch }}", `{{ }}: filter "nosuch" is unknown; known are abs, attr`},
		{"{{ 1 is nosuch }}", `test "nosuch" is unknown; known are boolean, callable`},
		{"{{ 1| }}", "the tag ends too early"},
		{"{{ 1 is }}", "the tag ends too early"},
		{"{{ 1 is odd is odd }}", "tests cannot be chained with is"},
		{"{{ a. }}", "the tag ends too early"},
		{"{{ a.(b) }}", `expected a name, got "("`},
		{"{{ a[] }}", "[] needs an index"},
		{"{{ a[1 2] }}", `expected ] or :, got "2"`},
		{"{{ a[1:2:3:4] }}", "a slice has at most 3 numbers"},
		{"{{ f(1 2) }}", `expected ",", got "2"`},
		{"{{ f(a=1, 2) }}", "an argument without a name follows one with a name"},
		{"{{ {1} }}", `expected ":", got "}"`},
		{"{{ {1: 2 3} }}", `expected ",", got "3"`},
		{"{{ [1 2] }}", `expected ",", got "2"`},
		{"{{ 1a }}", `unexpected "a"`},
		{"{{ 9223372036854775808 }}", "number 9223372036854775808 is too large"},
		{"{{ 1e999 }}", "number 1e999 is too large"},
		{`{{ '\x4' }}`, `the escape "\\x4" in a string is malformed`},
		{`{{ '\ud800' }}`, "in a string is malformed"},
		{`{{ '\N{DASH}' }}`, "in a string is malformed"},
		{"{{ 1 if }}", "the tag ends too early"},
		{"{{ not }}", "the tag ends too early"},
		{"{{ 1 not 2 }}", `unexpected "not"`},
		{"{{ * }}", `unexpected "*"`},
	} {
		_, err := New(c.template, nil)
		const prefix = "chat: the template has a syntax error: line "
		if err == nil || !strings.HasPrefix(err.Error(), prefix) ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("New(%q): error %v, want one with %q", c.template, err, c.want)
		}
	}
}
