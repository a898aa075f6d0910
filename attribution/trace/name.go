package trace

import "strings"

// mostNumbered is how many words of the name of a model have a digit at most, as in "Qwen3 30B A3B
// Instruct 2507". Files whose name has more name a run of their training: "Smollm2 135M 8k Lc100K
// Mix1 Ep2".
const mostNumbered = 4

// ShownName returns the name of the model in captions and on pages: Title if it reads as a name,
// else Name, of a path its last part alone.
func (i Info) ShownName() string {
	numbered := 0
	for word := range strings.FieldsSeq(i.Title) {
		if strings.ContainsAny(word, "0123456789") {
			numbered++
		}
	}
	if i.Title != "" && numbered <= mostNumbered {
		return i.Title
	}
	name, _ := WithoutFolder(i.Name)
	return name
}

// WithoutFolder returns the name of a model without the folders of a path, which belong to one
// machine, and whether it had any: it is absolute, begins with a dot, has backslashes or ends with
// .gguf. A name of the Hub has a slash and is no path.
func WithoutFolder(name string) (base string, folder bool) {
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == '\\' })
	hub := strings.Count(name, "/") == 1 && !strings.HasPrefix(name, ".")
	if len(parts) == 0 || !strings.ContainsAny(name, `/\`) ||
		hub && !strings.HasPrefix(name, "/") && !strings.Contains(name, `\`) &&
			!strings.HasSuffix(strings.ToLower(name), ".gguf") {
		return name, false
	}
	return parts[len(parts)-1], true
}
