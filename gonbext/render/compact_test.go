package render

import "testing"

// TestCompactLine removes spaces of a script, but none in a text and none between operators that
// would become another one.
func TestCompactLine(t *testing.T) {
	for line, want := range map[string]string{
		"const a = b ? 'x = y, z' : \"c && d\";":    "const a=b?'x = y, z':\"c && d\";",
		"if (a < b && c) { f(a, b); }":              "if (a<b&&c){f(a,b);}",
		"a + +b - -c":                               "a + +b - -c",
		"a += b + c - d / e; i++ + j":               "a+=b+c-d/e;i+++j",
		`say = 'it\'s a = b', d = "\"";`:            `say='it\'s a = b',d="\"";`,
		`x.replace(/(stroke=")(#\w+)/g, other = 1)`: `x.replace(/(stroke=")(#\w+)/g, other = 1)`,
		"'open = end":                               "'open = end",
	} {
		if got := tight(line); got != want {
			t.Errorf("%s becomes %s, want %s", line, got, want)
		}
	}
}
