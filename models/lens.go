package models

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/rowmath"
	"github.com/headwater-ml/headwater/models/spec"
)

// CheckLens returns an error if the head of the model scores no tokens.
func (m *Model) CheckLens() error {
	if m.spec.Head == spec.LanguageHead {
		return nil
	}
	return trace.Usagef("the lens needs a head that scores tokens, and the head of %s is of the "+
		"kind %s; its hidden states are in the tap %s", m.info.Name, m.info.Head, trace.Hidden)
}

// Lens returns what the head reads in the residual stream after each layer at some positions of a
// text; see [trace.Lens]. It holds the streams of the whole text and the scores of one position.
// The errors are those of [Model.CheckLens] and [transformer.Model.Lens], and one for fewer than 1
// most probable token.
func (m *Model) Lens(ctx context.Context, q trace.LensQuery) ([][]trace.LensLayer, error) {
	if err := m.CheckLens(); err != nil {
		return nil, err
	}
	if q.Likely < 1 {
		return nil, pkg.Errorf("the lens names the %d most probable tokens; take 1 or more",
			q.Likely)
	}
	if len(q.Tokens) != len(q.Positions) {
		return nil, pkg.Errorf("the lens of %d tokens at %d positions", len(q.Tokens),
			len(q.Positions))
	}
	if err := m.graph.CheckVocabulary(q.Tokens); err != nil {
		return nil, err
	}
	all := make([][]trace.LensLayer, len(q.Positions))
	use := func(i int, scores []float32) (err error) {
		all[i], err = m.lensLayers(scores, q.Tokens[i], q.Likely)
		if err == nil && q.Progress != nil {
			q.Progress(trace.Progress{
				Stage: "reading the head in every layer", Unit: "position", Done: i + 1,
				Total: len(all),
			})
		}
		return err
	}
	return all, m.graph.Lens(ctx, q, use)
}

// lensPart is how many tokens of the vocabulary are read at a time, and lensLeast the distance from
// the largest score below which a score adds nothing: 1e-13 of the sum each, so that all of a
// vocabulary of 262,144 are 2.5e-8, less than a score in float32 is rounded by.
const (
	lensPart  = 2048
	lensLeast = -30
)

// lensLayers returns the lens of each column of scores, [V,N]: its k most probable tokens, with
// lower ids first among equals, and the probability and the rank of a token. Parts of the
// vocabulary have one size whatever the number of processors, so sums have the same bits
// everywhere. It returns an error for scores that are NaN or infinite.
func (m *Model) lensLayers(scores []float32, token, k int) ([]trace.LensLayer, error) {
	V := m.spec.Vocab
	n := len(scores) / V
	if err := m.checkResults([]trace.Tensor{{
		Name: string(trace.Logits), Axes: "VL", Shape: []int{V, n}, Data: scores,
	}}); err != nil {
		return nil, fmt.Errorf("the lens: %w", err)
	}
	parts := make([]lensColumns, (V+lensPart-1)/lensPart)
	read := func(do func(c *lensColumns)) {
		var all sync.WaitGroup
		workers := runtime.GOMAXPROCS(0)
		for w := range workers {
			all.Go(func() {
				for p := w; p < len(parts); p += workers {
					do(&parts[p])
				}
			})
		}
		all.Wait()
	}
	for p := range parts {
		first, end := p*lensPart, min(V, (p+1)*lensPart)
		parts[p] = lensColumns{first: first, scores: scores[first*n : end*n], k: min(k, V)}
	}
	read(func(c *lensColumns) { c.findLikely(n) })
	likely, top := make([][]int, n), make([]float32, n)
	for c := range likely {
		for p := range parts {
			likely[c] = append(likely[c], parts[p].likely[c]...)
		}
		slices.SortStableFunc(likely[c], func(a, b int) int {
			return cmp.Compare(scores[b*n+c], scores[a*n+c])
		})
		top[c] = scores[likely[c][0]*n+c]
	}
	read(func(c *lensColumns) { c.count(top, scores[token*n:][:n]) })
	layers := make([]trace.LensLayer, n)
	for c := range layers {
		sum := 0.0
		layers[c].Rank = 1
		for p := range parts {
			sum += parts[p].sums[c]
			layers[c].Rank += parts[p].above[c]
		}
		chance := func(id int) float64 {
			return math.Exp(float64(scores[id*n+c])-float64(top[c])) / sum
		}
		layers[c].Probability = chance(token)
		for _, id := range likely[c][:min(k, V)] {
			layers[c].Likely = append(layers[c].Likely,
				trace.Alternative{Token: m.token(id), Probability: chance(id)})
		}
	}
	return layers, nil
}

// lensColumns is a part of the vocabulary in N columns of scores.
type lensColumns struct {
	first  int       // token of the part
	scores []float32 // [tokens,N]
	k      int
	// likely are the k tokens of each column with the largest scores, sums the parts of the sum of
	// the softmax, and above how many scores are larger than that of the token asked for, [N].
	likely [][]int
	sums   []float64
	above  []int
}

// findLikely finds the most probable tokens of each of n columns.
func (p *lensColumns) findLikely(n int) {
	p.likely = make([][]int, n)
	least := make([]float32, n) // of the k tokens, once there are so many
	for i := 0; i < len(p.scores); i += n {
		for c, x := range p.scores[i : i+n] {
			list := p.likely[c]
			if len(list) == p.k && !(x > least[c]) {
				continue
			}
			at := len(list)
			for at > 0 && p.scores[(list[at-1]-p.first)*n+c] < x {
				at--
			}
			list = slices.Insert(list, at, p.first+i/n)
			if list = list[:min(len(list), p.k)]; len(list) == p.k {
				least[c] = p.scores[(list[p.k-1]-p.first)*n+c]
			}
			p.likely[c] = list
		}
	}
}

// count adds up the softmax of each column, with its largest score, and counts the scores above
// those of the token asked for.
func (p *lensColumns) count(top, own []float32) {
	n := len(top)
	p.sums, p.above = make([]float64, n), make([]int, n)
	for i := 0; i < len(p.scores); i += n {
		for c, x := range p.scores[i : i+n] {
			if below := x - top[c]; below > lensLeast {
				p.sums[c] += rowmath.Exp(float64(x) - float64(top[c]))
			}
			if x > own[c] {
				p.above[c]++
			}
		}
	}
}
