package logit

import (
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
	"github.com/headwater-ml/headwater/models/transformer/internal/graph"
)

// direction is a linear function of a vector x of the residual stream that gives a logit: logit =
// x·along + constant. It is carried back through the model. What is not linear on the way keeps
// the factor that it has for this text.
type direction struct {
	Along    *Node // [B,1,D]
	Constant *Node // a scalar
}

// add adds the reading of v [...,D], which is added to x in the model, to the constant.
func (r direction) add(v *Node) direction {
	r.Constant = Add(r.Constant, r.read(v))
	return r
}

// read is v·along, a scalar.
func (r direction) read(v *Node) *Node {
	return ReduceAllSum(Mul(r.Along, ExpandLeftToRank(codes.Float(v), r.Along.Rank())))
}

// beforeNorm takes a direction on norm(x) back to one on x, with 1/σ as a factor:
//
//	y = (x - mean x)/σ·g + b:  y·d = x·(g·d - mean(g·d))/σ + b·d,  or with RMS  x·(g·d)/σ
func beforeNorm(s *spec.Spec, r direction, x *Node, w codes.Weights) direction {
	if s.NormBias() {
		r = r.add(w("bias"))
	}
	along := Mul(r.Along, graph.Gain(s, x, w))
	if !s.RMS {
		along = graph.Centred(along)
	}
	r.Along = Mul(along, graph.InverseSpread(s, x))
	return r
}

// beforeLayerNorm is [beforeNorm] with the layer's norm of that name.
func beforeLayerNorm(l *graph.Layer, r direction, x *Node, name string) direction {
	if !l.Spec.HasNorm(l.Number, name) {
		r.Along = l.AsAdded(r.Along, name)
		return r
	}
	return beforeNorm(l.Spec, r, x, l.W.In(name+"."))
}

// BeforeHead returns the direction on the residual stream x after the last block, [B,1,D] both,
// that gives Σ_i weights_i·logit_i for each text, for scores ids of the head and weights, [B,N];
// its constant is the sum over the texts. Activations and the cap of logits are lines through the
// origin; see [graph.ActivationSlope].
func BeforeHead(d *graph.Builder, x, ids, weights *Node) direction {
	inner := hiddenOf(d, d.Final(x))                         // [B,1,W]
	rows, bias := outputRows(d, ids)                         // [B,N,W], [B,N]
	scores := Add(ReduceSum(Mul(rows, inner.out), -1), bias) // [B,N]
	weights = Mul(weights, graph.CapSlope(scores, d.Spec.LogitCap))
	r := direction{
		Along: Reshape(ReduceSum(Mul(rows, InsertAxes(weights, -1)), -2),
			x.Shape().Dimensions[0], 1, -1),
		Constant: ReduceAllSum(Mul(bias, weights)),
	}
	if inner.dense != "" {
		if inner.norm != "" {
			r = beforeNorm(d.Spec, r, inner.active, d.W.In(inner.norm))
		}
		r.Along = Mul(r.Along, graph.ActivationSlope(d.Spec.HeadActivation, inner.before, d.W))
		if d.DenseBias(inner.dense) {
			r = r.add(d.W(inner.dense + ".bias"))
		}
		r.Along = d.Product.With(r.Along, codes.Float(d.W(inner.dense+".weight")), 1)
	}
	if d.Spec.ProjectsOut() {
		r.Along = d.Product.With(r.Along, codes.Float(d.W("head-projection.weight")), 1)
	}
	if !d.Spec.NoFinalNorm {
		r = beforeNorm(d.Spec, r, x, d.W.In("final-norm."))
	}
	return r
}

// hiddenLayer is the layer of a head before its output projection: a dense layer, an activation
// and a norm.
type hiddenLayer struct {
	// dense is the prefix of its weights, empty if there is no such layer; norm is the prefix of
	// its norm's weights, empty if there is no norm.
	dense, norm string
	// before and active are the input and output of the activation, and out the output of the
	// layer, [...,W].
	before, active, out *Node
}

// hiddenOf returns that layer for y, the output of the final norm.
func hiddenOf(d *graph.Builder, y *Node) hiddenLayer {
	h := hiddenLayer{out: y}
	switch {
	case d.Spec.HeadTransform:
		h.dense, h.norm = "head-transform", "head-norm."
	case d.Spec.Head != spec.LanguageHead && d.Spec.ClassifierDense:
		h.dense = "classifier-dense"
	default:
		return h
	}
	h.before = d.Dense(y, h.dense)
	h.active = graph.Activate(d.Spec.HeadActivation, h.before, d.W)
	h.out = h.active
	if h.norm != "" {
		h.out = graph.Norm(d.Spec, h.active, d.W.In(h.norm))
	}
	return h
}

// outputRows are rows of the output projection, [N,W], and their biases, [N].
func outputRows(d *graph.Builder, ids *Node) (rows, bias *Node) {
	table, name := outputTable(d)
	rows = d.Scaled(codes.Gathered(table, ids))
	if d.Spec.HeadBias {
		return rows, codes.Gathered(d.W(name), ids)
	}
	return rows, ZerosLike(ReduceSum(rows, -1))
}

// outputTable is the output projection, [V,W] or [K,W], and the name of its bias.
func outputTable(d *graph.Builder) (table *Node, bias string) {
	if d.Spec.Classifies() {
		return Transpose(d.W("classifier.weight"), 0, 1), "classifier.bias"
	}
	return d.Table(), "head-bias"
}
