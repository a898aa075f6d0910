package attribution

import (
	"maps"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution/units"
)

// byWord is the grouping by words.
var byWord, _ = units.ReadGrouping("word")

// Words returns a copy in which the columns are the words of the prompt, as [Explanation.Group]
// puts them together, and the rows are those of the answer: of each the sum of its tokens' rows, or
// the highest value where values do not add up; its probability is that of all its tokens, one
// after the other. Words of the answer are columns of later rows, too, and punctuation and control
// tokens are rows and columns of their own; see [units.Tokens.Words]. A model that reads has its
// predictions as rows.
//
// The alternatives of a row are those of its first token that is not white space alone. What
// studies with [Study.Words] found of one of its tokens it has too, of the first of several.
// [Prompt.Tokens] and [GeneratedToken.Tokens] lead back to the columns and rows of e, and
// [Prompt.Words] and [GeneratedToken.Word] are the words. allLayers is
// as [Options.AllLayers]: without it, a method whose words have tokens of several layers has only
// what is shown.
//
// Words returns e itself if its tokens are grouped already, if it has no rows, or if the tokens
// have no places in the text. It returns an error if the explanation is damaged. It costs one
// addition for each value.
func (e *Explanation) Words(allLayers bool) (*Explanation, error) {
	if e.Grouped() || len(e.Methods) == 0 || !e.Prompt.Placed() {
		return e, nil
	}
	if err := e.checkGrouped(); err != nil {
		return nil, err
	}
	n := len(e.Steps)
	for name, r := range e.Methods {
		if r.Shape[0] != n || len(r.OtherMass) != n*r.Shape[2] ||
			len(r.Explained) != n && r.Explained != nil || len(r.Residue) != n && r.Residue != nil {
			return nil, damaged("%s does not have %d rows", name, n)
		}
	}
	spans, err := e.spansOf(byWord)
	if err != nil {
		return nil, err
	}
	words := e
	if !e.Model.Reads() {
		if words, err = e.groupTargets(byWord, allLayers); err != nil {
			return nil, err
		}
	}
	if words, err = words.groupBy(spans, byWord); err != nil {
		return nil, err
	}
	for name, r := range words.Methods {
		r.Unit = e.Methods[name].Unit // a word has that of its tokens
	}
	for i := range words.Steps {
		words.Steps[i].keep(e.Steps, i)
	}
	return words, nil
}

// ByWords reports whether the columns and the rows are those of [Explanation.Words]; false of an
// explanation that was read from JSON, which does not have them.
func (e *Explanation) ByWords() bool {
	f := e.facts()
	return e.Prompt.Tokens != nil && f.By == byWord.String() &&
		(e.Model.Reads() || f.Target == byWord.String())
}

// keep gives the row of a word, row i of all, what only its tokens have.
func (g *GeneratedToken) keep(tokens []GeneratedToken, i int) {
	if g.Tokens == [2]int{} {
		g.Tokens = [2]int{i, i + 1} // of a model that reads
	}
	of := tokens[g.Tokens[0]:g.Tokens[1]]
	first := max(0, slices.IndexFunc(of, func(t GeneratedToken) bool {
		return strings.TrimSpace(t.Text) != ""
	}))
	g.Alternatives = of[first].Alternatives
	g.Studies = maps.Clone(g.Studies)
	for _, token := range of {
		for name, found := range token.Studies {
			if s, err := studies.Lookup(name); err == nil && s.Words && g.Studies[name] == nil {
				g.Studies.Set(name, found)
			}
		}
	}
}

// Word is a word of the text, which has the tokens [Begin,End): columns of a row, of which the
// generated tokens come after those of the prompt.
type Word struct {
	Begin int    `json:"begin"`
	End   int    `json:"end"`
	Text  string `json:"text"`
}

// WordsOfText returns the words of the prompt and, for a decoder, of what was generated, in order:
// those by which [Explanation.Words] puts tokens together. It returns nil if they are grouped
// already or have no places in the text.
func (e *Explanation) WordsOfText() (words []Word) {
	if e.Grouped() || !e.Prompt.Placed() {
		return nil
	}
	for _, s := range e.Prompt.Units().Words() {
		if s.Word != "" {
			words = append(words, Word{s.Tokens[0], s.Tokens[len(s.Tokens)-1] + 1, s.Word})
		}
	}
	if e.Model.Reads() {
		return words
	}
	all, _ := byWord.Divide(e.generated(e.Steps))
	m := len(e.Prompt.Texts)
	for _, s := range all {
		if s.Word != "" {
			words = append(words, Word{m + s.Begin, m + s.End, s.Word})
		}
	}
	return words
}
