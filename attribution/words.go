package attribution

import (
	"maps"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution/units"
)

// Words returns a copy in which the columns are the words of the prompt, as [Explanation.Group]
// puts them together, and the rows are those of the answer: of each the sum of its tokens' rows, or
// the highest value where values do not add up; its probability is that of all its tokens, one
// after the other. Words of the answer are columns of later rows, too, and punctuation and control
// tokens are rows and columns of their own; see [units.Tokens.Words]. A model that reads has its
// predictions as rows.
//
// The alternatives of a row are those of its first token that is not white space alone. What
// studies with [Study.Words] found of one of its tokens it has too, of the first of several.
// [Prompt.Tokens] and [GeneratedToken.Tokens] lead back to the columns and rows of e. allLayers is
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
	word, err := units.ParseGrouping("word")
	if err != nil {
		return nil, err
	}
	spans, err := e.spansOf(word)
	if err != nil {
		return nil, err
	}
	words := e
	if !e.Model.Reads() {
		if words, err = e.groupTargets(word, allLayers); err != nil {
			return nil, err
		}
	}
	if words, err = words.groupBy(spans, word); err != nil {
		return nil, err
	}
	for i := range words.Steps {
		words.Steps[i].keep(e.Steps, i)
	}
	return words, nil
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
