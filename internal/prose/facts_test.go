package prose

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

// word finds code that decides by the words of a unit, or by one of the words that describe how
// values were computed. It does not find code that writes such a word.
var word = regexp.MustCompile(`(HasPrefix|HasSuffix|Contains|EqualFold|Cut|Index)\([^,]*[Uu]nit\b` +
	`|\.Options\["\w+"\]($|[^ ]| [^=]| ==)`)

// TestFactsDecide checks that code outside of the package attribution reads what values are from
// attribution.Facts: not from their unit, nor from the options in words, which are for readers.
func TestFactsDecide(t *testing.T) {
	for _, line := range []string{
		`lift: strings.HasPrefix(r.Unit, "lift"),`, `switch r.Options["row"] {`,
		`return r.Options["scorer"] != ""`, `case r.Options["aggregation"] == "flow":`,
	} {
		if !word.MatchString(line) {
			t.Errorf("%s is not found", line)
		}
	}
	walk(t, decides, func(path string, text []byte) {
		for i, line := range strings.Split(string(text), "\n") {
			if word.MatchString(line) {
				t.Errorf("%s:%d: decides by words; read attribution.Facts", path, i+1)
			}
		}
	})
}

// decides reports whether a file is Go source outside of attribution whose results it reads.
func decides(name string) bool {
	return isGo(name) && !strings.HasSuffix(name, "_test.go") &&
		path.Base(path.Dir(name)) != "attribution" && !strings.Contains(name, "models/")
}
