package graph

import (
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
)

// Visible is 1 where a target may see a source and 0 elsewhere, [B or 1,N,S].
func (b *Block) Visible() *Node { return Squeeze(b.visible, 1) }

// turned normalises part [B,H,N,E] of the query or key by the root mean square of the whole, if the
// spec says so, and turns it by its position.
func (b *Block) turned(part, whole *Node, name string) *Node {
	if b.layer.Spec.QueryKeyNorm {
		part = b.layer.headNorm(part, whole, name)
	}
	if b.turning != nil {
		part = b.turning.turn(part)
		if name == "query" && b.turning.growth != nil {
			part = Mul(part, b.turning.growth)
		}
	}
	return part
}

// scaledDot returns q·k times the scale of the spec, 1/√E by default, [B,H,N,S], for q [B,H,N,E].
func (b *Block) scaledDot(q *Node) *Node {
	l := b.layer
	q = MulScalar(q, l.scoreScale()) // fewer multiplications than scaling the scores
	if b.own == nil {
		return l.relevance.product(l.dot(q, b.sources.Key))
	}
	past, own, at := l.dot(q, b.own.past.Key), l.dot(q, b.own.Key), b.own.at()
	return Add(Mul(past, OneMinus(at)), Mul(own, at))
}

// scoreScale is what q·k is multiplied by.
func (l *Layer) scoreScale() float64 {
	scale := l.Spec.ScoreScale
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(l.Spec.HeadWidth))
	}
	if l.Spec.ScoreByLayer {
		scale /= float64(l.Number + 1)
	}
	return scale
}

// turnedRows is from how many targets on pure Go multiplies by the turned keys: a product of rows
// by rows adds up the numbers of a vector register for every score, which takes more time than the
// product where heads are narrow. Fewer targets save little, and with rows by rows a score does not
// depend on how many sources there are, not even in its last digit.
const turnedRows = 64

// softmax is that of scores [B,H,N,S] and, if the spec has them, of the sink of each head, which is
// left out of the result.
func (l *Layer) softmax(scores *Node) *Node {
	if !l.Spec.Sinks {
		return Softmax(scores, -1)
	}
	dims := scores.Shape().Dimensions
	sinks := Reshape(codes.Float(l.W("sinks")), 1, -1, 1, 1)
	sinks = BroadcastToDims(sinks, dims[0], dims[1], dims[2], 1)
	all := Softmax(Concatenate([]*Node{scores, sinks}, -1), -1)
	return SliceAxis(all, -1, AxisRange(0, dims[3]))
}

// forEachHead is mask [B or 1,1,N,S] as it is added to the scores. Pure Go adds arrays of one shape
// several times as fast as it repeats one of them while it adds, so there each head gets a copy.
func forEachHead(b *Block, mask *Node) *Node {
	dims := b.Scores.Shape().Dimensions
	same := mask.Shape().Dimensions[0] == dims[0] && mask.Shape().Dimensions[1] == 1
	if !same || dims[2] < turnedRows || codes.BackendName(mask.Graph().Backend()) != "go" {
		return mask
	}
	return Concatenate(slices.Repeat([]*Node{mask}, dims[1]), 1)
}

// dot is q [B,H,N,E] · key [B,G,S,E], [B,H,N,S].
func (l *Layer) dot(q, key *Node) *Node {
	if Narrow(key) {
		return ReduceSum(Mul(InsertAxes(q, 3), InsertAxes(l.PerHead(key), 2)), -1)
	}
	dims := q.Shape().Dimensions
	sources := "se"
	if dims[2] >= turnedRows && codes.BackendName(q.Graph().Backend()) == "go" {
		key, sources = TransposeAllAxes(key, 0, 1, 3, 2), "es"
	}
	if l.Spec.Groups() == l.Spec.Heads {
		return l.einsum("bhne,bh"+sources+"->bhns", q, key)
	}
	scores := l.einsum("bgrne,bg"+sources+"->bgrns", l.Grouped(q), key)
	return Reshape(scores, dims[0], dims[1], dims[2], -1)
}
