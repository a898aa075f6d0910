package focus

import (
	"cmp"
	"math"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// Attention is what all heads of a model give from each token of a text to each token, and ranks
// the heads that look from a token at another one in particular. Its methods are not safe for
// concurrent use, because sums are kept when they are first needed.
type Attention struct {
	// Layers, Heads and Tokens are L, H and T, and Data is [L,H,T,T]: the share of the attention of
	// target i that is on source j.
	Layers, Heads, Tokens int
	Data                  []float32
	// Bidirectional reports whether a token sees those after it.
	Bidirectional bool
	// Source is, for a model of two stacks, how many tokens the source has, which see each other,
	// and Encoder is how many of the layers are the encoder's. The rows of a layer that are those
	// of tokens of the other stack count as zeros. Both are 0 for other models.
	Source, Encoder int
	// Ignored are the sources that a head does not look at in particular, [T], such as sinks.
	Ignored []bool
	// Copied reports whether source j is the token that is predicted at target i: a head that looks
	// there copies. Nil is for none.
	Copied func(i, j int) bool

	means []float64 // [L,H,T], nil until mean needs them
	// distances has the attention that a head gives tokens at a distance, and from how many tokens,
	// [L,H,2T]; nil until AtDistance needs it.
	distances []distance
}

// Look is a head that looks from a token at another one, Token.
type Look struct {
	Layer, Head, Token int
	// Share is the share of the head's attention on Token, Over what that is more than its habit,
	// and Rank what heads are ranked by; see [Attention.Looks].
	Share, Over, Rank float64
	// Wrote is what the head wrote into a logit, of [Attention.Writers].
	Wrote float64
}

// distance is the sum of a head's attention over tokens that are equally far from those that look,
// and their number.
type distance struct {
	sum   float64
	count int
}

// At returns A_lh[i,j], the share of the attention of head h in layer l from token i on token j.
func (a *Attention) At(l, h, i, j int) float64 {
	if !a.LooksFrom(l, i) {
		return 0
	}
	return float64(a.Data[((l*a.Heads+h)*a.Tokens+i)*a.Tokens+j])
}

// Seen returns how many tokens token i can look at, from the first one.
func (a *Attention) Seen(i int) int { return a.sight().Width(i, a.Tokens) }

// Joins reports whether heads of layer l can look from token i at source j.
func (a *Attention) Joins(l, i, j int) bool {
	from, to := a.sight().Seen(l, i, a.Tokens)
	return a.LooksFrom(l, i) && from <= j && j < to
}

func (a *Attention) sight() trace.Sight {
	if a.Bidirectional {
		return trace.Sight{Prefix: a.Tokens}
	}
	return trace.Sight{Prefix: a.Source, Encoder: a.Encoder}
}

// LooksFrom reports whether heads of layer l look from token i: those of one stack alone do.
func (a *Attention) LooksFrom(l, i int) bool {
	return a.Source == 0 || (l < a.Encoder) == (i < a.Source)
}

// Looks returns the heads that look from token i at another token in particular, by falling rank,
// at most one token for each head:
//
//	excess(j) = A_lh[i,j] - mean over u ≠ j that see j of A_lh[u,j]
//	j*        = argmax over j ≠ i that are not ignored of A_lh[i,j] if j is copied, else excess(j)
//	over      = excess(j*) - ½ · mean over u ≠ i of A_lh[u, u-(i-j*)]
//	rank      = (A_lh[i,j*] if j* is copied, else over), of the lower half of layers ½ of it
//
// A head for which the largest of these is not above 0 is left out: it looks at the same tokens
// from everywhere. The second mean is that of [Attention.AtDistance], so that a head which always
// looks at the token before comes after one that looks far back from here alone, and before one
// that looks nowhere in particular. A head that copies has its whole share, because it often looks
// at the same token from several places. The upper half of the layers counts twice, because what it
// writes is more often what the token is predicted by. Among equals the lower layer and head come
// first. The first call costs L·H·T², later ones L·H·T.
func (a *Attention) Looks(i int) []Look {
	var all []Look
	copied := make([]bool, a.Seen(i))
	for j := range copied {
		copied[j] = a.Copied != nil && a.Copied(i, j)
	}
	for l := range a.Layers {
		weight := 1.0
		if 2*l < a.Layers {
			weight = 0.5
		}
		for h := range a.Heads {
			top, most := Look{Layer: l, Head: h, Token: -1}, 0.0
			for j := range copied {
				x := a.At(l, h, i, j)
				if j == i || a.Ignored[j] || x <= most {
					continue
				}
				excess := x - a.mean(l, h, j)
				if amount := amountOf(copied[j], x, excess); amount > most {
					top.Token, top.Share, top.Over, most = j, x, excess, amount
				}
			}
			if top.Token >= 0 {
				top.Over -= a.AtDistance(l, h, i, top.Token) / 2
				top.Rank = amountOf(copied[top.Token], top.Share, top.Over) * weight
				all = append(all, top)
			}
		}
	}
	slices.SortStableFunc(all, func(x, y Look) int { return cmp.Compare(y.Rank, x.Rank) })
	return all
}

// amountOf returns what a head is ranked by for a source with a share: all of it if the source is
// copied, else what it is over its habit.
func amountOf(copied bool, share, over float64) float64 {
	if copied {
		return share
	}
	return over
}

// Best returns the head that says most of what token i looks at: the first of [Attention.Looks] in
// a layer, or the first of all if none of them is in that layer. ok is false if there is none.
func (a *Attention) Best(i, layer int) (best Look, ok bool) {
	all := a.Looks(i)
	if len(all) == 0 {
		return Look{}, false
	}
	at := slices.IndexFunc(all, func(b Look) bool { return b.Layer == layer })
	return all[max(at, 0)], true
}

// Strongest returns the k first heads of [Attention.Looks], those of a layer apart. If none of that
// layer is among them, its first one is added. Both lists are in the order of their ranks.
func (a *Attention) Strongest(i, layer, k int) (ofLayer, others []Look) {
	for n, b := range a.Looks(i) {
		switch {
		case b.Layer == layer && (n < k || ofLayer == nil):
			ofLayer = append(ofLayer, b)
		case b.Layer != layer && n < k:
			others = append(others, b)
		}
	}
	return ofLayer, others
}

// Writers returns all heads by the falling size of what they wrote into the logit of what is
// predicted at token i, [L,H]; among equals the lower layer and head come first. Token is the one
// that is not ignored to which a head gives most from i, -1 if it gives none anything.
func (a *Attention) Writers(i int, wrote []float64) []Look {
	all := make([]Look, len(wrote))
	for n := range all {
		top := Look{Layer: n / a.Heads, Head: n % a.Heads, Token: -1, Wrote: wrote[n]}
		for j := range a.Seen(i) {
			if x := a.At(top.Layer, top.Head, i, j); x > top.Share && !a.Ignored[j] {
				top.Token, top.Share = j, x
			}
		}
		all[n] = top
	}
	slices.SortStableFunc(all, func(x, y Look) int {
		return cmp.Compare(math.Abs(y.Wrote), math.Abs(x.Wrote))
	})
	return all
}

// AtDistance returns the mean share of a head's attention, from all tokens but i, on the token that
// is as far away as j is from i; 0 if no other token has one there. Ignored tokens are left out.
func (a *Attention) AtDistance(l, h, i, j int) float64 {
	T := a.Tokens
	if a.distances == nil {
		a.distances = make([]distance, a.Layers*a.Heads*2*T)
		for l := range a.Layers {
			for h := range a.Heads {
				row := a.distances[(l*a.Heads+h)*2*T:][:2*T]
				for i := range T {
					for j := range a.Seen(i) {
						if !a.Ignored[j] && a.LooksFrom(l, i) {
							row[T+i-j].sum += a.At(l, h, i, j)
							row[T+i-j].count++
						}
					}
				}
			}
		}
	}
	d := a.distances[(l*a.Heads+h)*2*T+T+i-j]
	if d.count < 2 {
		return 0
	}
	return (d.sum - a.At(l, h, i, j)) / float64(d.count-1)
}

// mean returns the mean share of a head's attention that token j has from the other tokens that see
// it.
func (a *Attention) mean(l, h, j int) float64 {
	if a.means == nil {
		a.means = make([]float64, a.Layers*a.Heads*a.Tokens)
		for l := range a.Layers {
			for h := range a.Heads {
				row := a.means[(l*a.Heads+h)*a.Tokens:][:a.Tokens]
				others := make([]int, a.Tokens)
				for i := range a.Tokens {
					for j := range a.Seen(i) {
						if j != i && a.LooksFrom(l, i) {
							row[j] += a.At(l, h, i, j)
							others[j]++
						}
					}
				}
				for j := range row {
					row[j] /= float64(max(others[j], 1))
				}
			}
		}
	}
	return a.means[(l*a.Heads+h)*a.Tokens+j]
}
