package transformer

import (
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/models/spec"
)

// direction is a linear function of a vector x of the residual stream that gives a logit: logit =
// x·along + constant. It is carried back through the model. What is not linear on the way keeps
// the factor that it has for this text.
type direction struct {
	along    *Node // [B,1,D]
	constant *Node // a scalar
}

// add adds the reading of v [...,D], which is added to x in the model, to the constant.
func (r direction) add(v *Node) direction {
	r.constant = Add(r.constant, r.read(v))
	return r
}

// read is v·along, a scalar.
func (r direction) read(v *Node) *Node {
	return ReduceAllSum(Mul(r.along, ExpandLeftToRank(float(v), r.along.Rank())))
}

// beforeNorm takes a direction on norm(x) back to one on x, with 1/σ as a factor:
//
//	y = (x - mean x)/σ·g + b:  y·d = x·(g·d - mean(g·d))/σ + b·d,  or with RMS  x·(g·d)/σ
func beforeNorm(s *spec.Spec, r direction, x *Node, w byName) direction {
	if s.NormBias() {
		r = r.add(w("bias"))
	}
	along := Mul(r.along, gain(s, x, w))
	if !s.RMS {
		along = centred(along)
	}
	r.along = Mul(along, inverseSpread(s, x))
	return r
}

// beforeNorm is [beforeNorm] with the layer's norm of that name.
func beforeLayerNorm(l *Layer, r direction, x *Node, name string) direction {
	if !l.spec.HasNorm(l.number, name) {
		r.along = l.asAdded(r.along, name)
		return r
	}
	return beforeNorm(l.spec, r, x, l.w.in(name+"."))
}

// beforeHead returns the direction on the residual stream x after the last block, [B,1,D] both,
// that gives Σ_i weights_i·logit_i for each text, for scores ids of the head and weights, [B,N];
// its constant is the sum over the texts. Activations and the cap of logits are lines through the
// origin; see [activationSlope].
func beforeHead(d *builder, x, ids, weights *Node) direction {
	inner := hiddenOf(d, d.final(x))                         // [B,1,W]
	rows, bias := outputRows(d, ids)                         // [B,N,W], [B,N]
	scores := Add(ReduceSum(Mul(rows, inner.out), -1), bias) // [B,N]
	weights = Mul(weights, capSlope(scores, d.spec.LogitCap))
	r := direction{
		along: Reshape(ReduceSum(Mul(rows, InsertAxes(weights, -1)), -2),
			x.Shape().Dimensions[0], 1, -1),
		constant: ReduceAllSum(Mul(bias, weights)),
	}
	if inner.dense != "" {
		if inner.norm != "" {
			r = beforeNorm(d.spec, r, inner.active, d.w.in(inner.norm))
		}
		r.along = Mul(r.along, activationSlope(d.spec.HeadActivation, inner.before, d.w))
		if d.denseBias(inner.dense) {
			r = r.add(d.w(inner.dense + ".bias"))
		}
		r.along = d.product.with(r.along, float(d.w(inner.dense+".weight")), 1)
	}
	if d.spec.ProjectsOut() {
		r.along = d.product.with(r.along, float(d.w("head-projection.weight")), 1)
	}
	if !d.spec.NoFinalNorm {
		r = beforeNorm(d.spec, r, x, d.w.in("final-norm."))
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

// hidden returns that layer for y, the output of the final norm.
func hiddenOf(d *builder, y *Node) hiddenLayer {
	h := hiddenLayer{out: y}
	switch {
	case d.spec.HeadTransform:
		h.dense, h.norm = "head-transform", "head-norm."
	case d.spec.Head != spec.LanguageHead && d.spec.ClassifierDense:
		h.dense = "classifier-dense"
	default:
		return h
	}
	h.before = d.dense(y, h.dense)
	h.active = activate(d.spec.HeadActivation, h.before, d.w)
	h.out = h.active
	if h.norm != "" {
		h.out = norm(d.spec, h.active, d.w.in(h.norm))
	}
	return h
}

// outputRows are rows of the output projection, [N,W], and their biases, [N].
func outputRows(d *builder, ids *Node) (rows, bias *Node) {
	table, name := outputTable(d)
	rows = d.scaled(gathered(table, ids))
	if d.spec.HeadBias {
		return rows, gathered(d.w(name), ids)
	}
	return rows, ZerosLike(ReduceSum(rows, -1))
}

// outputTable is the output projection, [V,W] or [K,W], and the name of its bias.
func outputTable(d *builder) (table *Node, bias string) {
	if d.spec.Classifies() {
		return Transpose(d.w("classifier.weight"), 0, 1), "classifier.bias"
	}
	return d.table(), "head-bias"
}
