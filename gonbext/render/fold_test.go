package render

import (
	"fmt"
	"strings"
	"testing"
)

// told writes sentences in letters: n tokens for each, of which the first is the letter, and the
// last ends as it says.
func told(sentences ...string) (tokens []string) {
	for _, s := range sentences {
		letter, n, end := s[:1], 0, ""
		fmt.Sscanf(s[1:], "%d%q", &n, &end)
		for i := range n - 1 {
			tokens = append(tokens, fmt.Sprintf(" %s%d", letter, i))
		}
		tokens = append(tokens, end)
	}
	return tokens
}

// shownOf writes what stands in a text: open sentences by their letter and folds by their names.
func shownOf(d *drawing) string {
	var all []string
	for _, c := range d.columns {
		name := strings.TrimRight(d.tokens[c.From].name, "0123456789")
		if c.Folded {
			name = "[" + c.Name + "]"
			if c.Begins != "" {
				name = "[" + c.Name + ": " + c.Begins + "]"
			}
		}
		if d.inText(c.From) && (len(all) == 0 || all[len(all)-1] != name) && name != "." {
			all = append(all, name)
		}
	}
	return strings.Join(all, " ")
}

// TestFolds: whole sentences are folded, those of a paragraph as one. The sentence of a named
// source stays with its neighbours, what has a quarter of the strongest, what is asked, and
// headings.
func TestFolds(t *testing.T) {
	p := `"."`
	end := `".\n\n"`
	for name, c := range map[string]struct {
		message []string
		strong  map[int]float64 // values of tokens of the message
		want    string
	}{
		"forty words": {told("a20"+p, "b20"+p, "c3"+p), nil, "a b c"},
		"a paragraph each": {
			told("a20"+p, "b20"+end, "c20"+end, "d4"+p), nil,
			"[2 sentences: a0 a1 a2 a3 a4 …] [1 sentence: c0 c1 c2 c3 c4 …] d",
		},
		"short paragraphs together": {
			told("a9"+end, "b9"+end, "c9"+end, "d30"+end, "e4"+p), nil,
			"a [3 sentences: b0 b1 b2 b3 b4 …] e",
		},
		"less than twenty": {told("a19"+end, "b30"+p, "c4"+p), nil, "a b c"},
		"a named source": {
			told("a20"+p, "b20"+p, "c20"+p, "d20"+p, "e20"+end, "f4"+p), map[int]float64{45: .9},
			"[1 sentence: a0 a1 a2 a3 a4 …] b c d [1 sentence] f",
		},
		"neighbours of its paragraph alone": {
			told("a20"+end, "b20"+end, "c20"+end, "d4"+p), map[int]float64{25: .9},
			"[1 sentence: a0 a1 a2 a3 a4 …] b [1 sentence: c0 c1 c2 c3 c4 …] d",
		},
		"a quarter": {
			told("a20"+end, "b20"+end, "c20"+end, "d4"+p), map[int]float64{25: .9, 5: .23, 45: .22},
			"a b [1 sentence: c0 c1 c2 c3 c4 …] d",
		},
		"a heading": {
			told(`a3"\n\n"`, "b30"+end, `c3"\n\n"`, "d30"+p, "e4"+end, "f4"+p),
			map[int]float64{40: .9}, "a [1 sentence: b0 b1 b2 b3 b4 …] c d e f",
		},
		"the line before a document": {
			told(`a3":\n"`, "b30"+p, "c30"+end, "d4"+p), nil, "a : [2 sentences] d",
		},
		"a long last paragraph": {
			told("a20"+p, "b30"+p, "c20"+p), nil, "[2 sentences: a0 a1 a2 a3 a4 …] c",
		},
		"no sentences": {
			told("a170"+p, "b4"+p), map[int]float64{50: .9}, "a [49 words] b",
		},
		"a program": {
			told(`a9"\n  "`, `b9"\n  "`, `c9"\n\n  "`, `d9"\n  "`, `e9"\n  "`, `f9"\n"`),
			map[int]float64{0: .9}, "a b c d e f",
		},
	} {
		e := chattedAbout(c.message...)
		row := e.Methods["raw"].Rows[1]
		clear(e.Methods["raw"].Rows[0])
		clear(row)
		for j, x := range c.strong {
			row[12+j] = x
		}
		if got := shownOf(drawingOf(e)); got != "You are terse "+c.want+" In" {
			t.Errorf("%s: it shows\n%s, want\nYou are terse %s In", name, got, c.want)
		}
	}
}
