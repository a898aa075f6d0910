package message

import (
	"regexp"
	"strings"
	"sync"
)

// packages are the names that errors of this project begin with, each followed by a colon. pip is
// not among them: it is a program that users know.
var packages = []string{
	"attribution", "attributiontest", "bench", "bucket", "certificate", "chart", "chat",
	"checkpoint", "corpus", "engine", "evaluate", "export", "family", "figure", "figures",
	"flowmaps", "focus", "gguf", "gguftest", "golden", "gonbext", "growth", "hub", "kernel",
	"local", "maxflow", "models", "mutation", "ollama", "peers", "planted",
	"registry", "render", "report", "reproduction", "scorer", "server", "sources", "spec",
	"tasks", "tiny", "tokenizer", "trace", "train", "transformer", "xla", "xlaplugin",
}

// quotation is a name or a text of a user, which stays as it is.
const quotation = `"(?:[^"\\\n]|\\.)*"`

// The patterns are made for the first message: most programs have none.
var (
	quoted = pattern(quotation)
	// prefixes are names of packages where a message, or a part of it, begins.
	prefixes = pattern(`(^|[:;?] |\(|\n\s*)((?:(?:` + strings.Join(packages, "|") + `): )+)`)
)

func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// WithoutPackages returns the text of an error without the names of the packages that it came
// through, which mean nothing to a user. What stands in double quotes stays. Of a name that stands
// twice in a row the second one stays too: it is that of a file or a model.
func WithoutPackages(text string) string {
	names := quoted().FindAllStringIndex(text, -1)
	var b strings.Builder
	end := 0
	for _, at := range prefixes().FindAllStringSubmatchIndex(text, -1) {
		for len(names) > 0 && names[0][1] <= at[4] {
			names = names[1:]
		}
		if len(names) > 0 && names[0][0] < at[4] {
			continue
		}
		b.WriteString(text[end:at[4]])
		before := ""
		for name := range strings.SplitSeq(strings.TrimSuffix(text[at[4]:at[5]], ": "), ": ") {
			if name == before {
				b.WriteString(name + ": ")
			}
			before = name
		}
		end = at[5]
	}
	b.WriteString(text[end:])
	return b.String()
}
