package transformer_test

import (
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
)

// forward is a whole model in float64, from the rows of the embedding on.
type forward struct {
	g   *golden
	ids []int
	// layers are its blocks, attention and all.
	layers []*layer
	// change may change the attention of a layer before its output is computed.
	change func(l int, b *layer)
}

// embedded64 is the residual stream before block 0 of rows of the embedding.
func (g *golden) embedded64(ids []int, rows [][]float64) [][]float64 {
	s, x := g.model.Spec, make([][]float64, len(rows))
	row := func(name string, i int) []float64 {
		table := g.params[name]
		width := s.Embedded()
		if name == "positions" && s.ProjectTokens {
			width = s.Width
		}
		return wide(table[i*width : (i+1)*width])
	}
	position := 0
	for t, e := range rows {
		y := slices.Clone(e)
		if s.EmbeddingScale != 0 {
			for i := range y {
				y[i] *= s.EmbeddingScale
			}
		}
		projected := s.Embedded() != s.Width
		if projected && s.ProjectTokens {
			y = times(y, g.params["embedding-projection.weight"])
		}
		if s.Positions == spec.LearnedPositions {
			at := position
			if s.SkipPosition && ids[t] == s.SkipID {
				at = -1
			} else {
				position++
			}
			y = plus(y, row("positions", at+s.PositionOffset))
		}
		if s.TokenTypes > 0 {
			y = plus(y, row("token-types", 0))
		}
		if s.EmbeddingNorm {
			y = norm(s, y, g.params["embedding-norm.gain"], g.params["embedding-norm.bias"])
		}
		if projected && !s.ProjectTokens {
			y = plus(times(y, g.params["embedding-projection.weight"]),
				wide(g.params["embedding-projection.bias"]))
		}
		x[t] = y
	}
	return x
}

// run returns the scores of the head at a position.
func (f *forward) run(rows [][]float64, position int) []float64 {
	s := f.g.model.Spec
	x := f.g.embedded64(f.ids, rows)
	f.layers = nil
	for l := range s.Layers {
		b := newLayer(s, l, func(name string) []float32 {
			return f.g.params[fmt.Sprintf("blocks.%d.%s", l, name)]
		}, x, false)
		if f.change != nil {
			f.change(l, b)
		}
		next := make([][]float64, len(x))
		for t := range x {
			next[t] = b.output(t, -1, -1)
		}
		x, f.layers = next, append(f.layers, b)
	}
	if s.Head == spec.ClassifierHead {
		position = readsAt(s, f.ids)
	}
	return f.g.headed(x[position])
}

// headed are the scores of the head for the residual stream after the last block.
func (g *golden) headed(y []float64) []float64 {
	s := g.model.Spec
	if !s.NoFinalNorm {
		y = norm(s, y, g.params["final-norm.gain"], g.params["final-norm.bias"])
	}
	if w := g.params["head-projection.weight"]; w != nil {
		y = times(y, w)
	}
	if s.Head == spec.LanguageHead {
		return g.scores(y)
	}
	scores := g.classes(y)
	if s.Discriminates() {
		scores = []float64{0, scores[0]}
	}
	return scores
}

// value is what a query asks for, in float64.
func (f *forward) value(q trace.Query, rows [][]float64) float64 {
	scores := f.run(rows, q.Position)
	v := f.g.asked(scores, q.Quantity, q.Token)
	if q.Contrast != nil {
		v -= f.g.asked(scores, q.Quantity, *q.Contrast)
	}
	return v
}

// rowsOf are the rows of the embedding of ids.
func (g *golden) rowsOf(ids []int) [][]float64 {
	var rows [][]float64
	width := g.model.Spec.Embedded()
	for _, id := range ids {
		rows = append(rows, wide(g.params["embedding"][id*width:(id+1)*width]))
	}
	return rows
}
