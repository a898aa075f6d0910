package logit

import (
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
	"github.com/headwater-ml/headwater/models/transformer/internal/graph"
)

// Parted is vectors, [1,N,D], and their parts, one per token, [1,N,K,D]: each vector is the sum of
// its parts.
type Parted struct{ Whole, Parts *Node }

// plus is the sum of two.
func (v Parted) plus(u Parted) Parted {
	return Parted{Whole: Add(v.Whole, u.Whole), Parts: Add(v.Parts, u.Parts)}
}

// share adds a bias [D] to parts p, [...,K,D], by AbsDot (Modarressi et al. 2023, eq. 5 and 6):
//
//	p_k + ω_k b,  ω_k = |p_k·b| / Σ_j |p_j·b|
//
// A bias at right angles to all parts goes to none of them.
func share(parts, bias *Node) *Node {
	along := ReduceAndKeep(Mul(parts, codes.AlignLast(bias, parts)), ReduceSum, -1) // [...,K,1]
	return Add(parts, Mul(absShares(along), codes.AlignLast(bias, parts)))
}

// absShares is |x| divided by its sum over the K of [...,K,1]; 0 if that sum is 0.
func absShares(x *Node) *Node {
	x = Abs(x)
	return Div(x, MaxScalar(ReduceAndKeep(x, ReduceSum, -2), 1e-30))
}

// normParts is a norm of v: linear in the parts, because the spread is that of the whole, with its
// bias shared among them.
func normParts(s *spec.Spec, v Parted, w codes.Weights) Parted {
	parts := graph.NormedPart(s, v.Parts, InsertAxes(v.Whole, -2), w)
	if s.NormBias() {
		parts = share(parts, w("bias"))
	}
	return Parted{Whole: graph.Norm(s, v.Whole, w), Parts: parts}
}

// layerNormParts is [normParts] with the layer's norm of that name.
func layerNormParts(l *graph.Layer, v Parted, name string) Parted {
	if !l.Spec.HasNorm(l.Number, name) {
		return Parted{Whole: l.AsAdded(v.Whole, name), Parts: l.AsAdded(v.Parts, name)}
	}
	return normParts(l.Spec, v, l.W.In(name+"."))
}

// denseParts is x W + b of parts, for a projection of the feed-forward part. Parts are float32,
// whatever the weights are.
func denseParts(l *graph.Layer, parts *Node, name string) *Node {
	parts = l.LinearIn(parts, codes.Float(l.W(name+".weight")), name)
	switch {
	case !l.Spec.MLPBias:
		return parts
	case l.ExpertWeights == nil:
		return share(parts, l.W(name+".bias"))
	case name == "down": // the biases of all experts count as one
		return share(parts, InsertAxes(l.ExpertBiases(), 1))
	}
	return shareByExpert(l, parts, l.W(name+".bias"))
}

// mlpParts is the feed-forward part of v. The weights of experts are constants, as attention is.
func mlpParts(l *graph.Layer, v Parted) Parted {
	m := l.Spec.MixtureOf(l.Number)
	if m == nil {
		return feedForwardParts(l, v)
	}
	whole, parts := v.Whole.Shape().Dimensions, v.Parts.Shape().Dimensions
	width := whole[len(whole)-1]
	v = Parted{Reshape(v.Whole, -1, width), Reshape(v.Parts, -1, parts[len(parts)-2], width)}
	y := feedForwardParts(l.Experts(m, l.Route(m, v.Whole)), v)
	if m.Shared > 0 {
		shared := feedForwardParts(l.Shared(), v)
		if m.SharedGate {
			weight := Sigmoid(l.Linear(v.Whole, "shared-gate"))
			shared = Parted{Mul(shared.Whole, weight), Mul(shared.Parts, InsertAxes(weight, -1))}
		}
		y = y.plus(shared)
	}
	return Parted{Reshape(y.Whole, whole...), Reshape(y.Parts, parts...)}
}

// feedForwardParts is [graph.Layer.feedForward] of v. An activation is the line through the origin
// and its value, θ = f(x)/x (Modarressi et al. 2023, eq. 10). A product of two projections gives
// half to each, as the Shapley value does:
//
//	m = down(θ·up x),         m_k = down(θ·up_k)
//	m = down(θ·gate x·up x),  m_k = down(θ·(gate_k·up x + gate x·up_k)/2)
//
// A limit counts as an activation, and an offset o of up x adds o·θ·gate_k.
func feedForwardParts(l *graph.Layer, v Parted) Parted {
	s, activation := l.Spec, l.Spec.Activation
	dense := func(name string) Parted {
		return Parted{Whole: l.MLPDense(v.Whole, name), Parts: denseParts(l, v.Parts, name)}
	}
	up := dense("up")
	hidden := Parted{}
	if l.Spec.Gated {
		gate := dense("gate")
		if s.InnerLimit > 0 {
			slope := graph.ClipSlope(up.Whole, s.InnerLimit)
			up = Parted{Mul(up.Whole, slope), Mul(up.Parts, InsertAxes(slope, -2))}
			slope = graph.LimitSlope(gate.Whole, s.InnerLimit)
			gate = Parted{Mul(gate.Whole, slope), Mul(gate.Parts, InsertAxes(slope, -2))}
		}
		slope := graph.ActivationSlope(activation, gate.Whole, l.W)
		if s.SwishScale != 0 {
			slope = graph.ActivationSlope(activation, MulScalar(gate.Whole, s.SwishScale), l.W)
		}
		active, other := Mul(slope, gate.Whole), MulScalar(up.Whole, 0.5)
		hidden.Whole = Mul(active, up.Whole)
		if s.UpOffset != 0 {
			hidden.Whole = Mul(active, AddScalar(up.Whole, s.UpOffset))
			other = AddScalar(other, s.UpOffset)
		}
		hidden.Parts = Add(Mul(gate.Parts, InsertAxes(Mul(slope, other), -2)),
			MulScalar(Mul(up.Parts, InsertAxes(active, -2)), 0.5))
	} else {
		hidden.Whole = graph.Activate(activation, up.Whole, l.W)
		hidden.Parts = Mul(up.Parts,
			InsertAxes(graph.ActivationSlope(activation, up.Whole, l.W), -2))
	}
	hidden.Whole, hidden.Parts = l.ByExpert(hidden.Whole), l.ByExpert(hidden.Parts)
	return Parted{
		Whole: l.MLPDense(hidden.Whole, "down"),
		Parts: denseParts(l, hidden.Parts, "down"),
	}
}

// ValueParts are the values of the parts of the layer's input x, without the bias, [G,N,K,E].
func ValueParts(l *graph.Layer, x Parted) *Node {
	parts := joinedValueParts(l, x)
	dims := parts.Shape().Dimensions
	parts = Reshape(parts, dims[1], dims[2], l.Spec.Groups(), l.Spec.ValueWidth())
	return TransposeAllAxes(parts, 2, 0, 1, 3)
}

// joinedValueParts is ValueParts with the groups side by side, [1,N,K,GE].
func joinedValueParts(l *graph.Layer, x Parted) *Node {
	switch {
	case l.Spec.Stack(l.Number) == spec.Crossing && l.Spec.MemoryNorm:
		x = layerNormParts(l, x, "memory-norm")
	case l.Spec.Stack(l.Number) == spec.Crossing: // the output of the encoder as it is
	case l.Spec.Order != spec.PostNorm:
		x = layerNormParts(l, x, "attention-norm")
	}
	if t := l.Spec.Latent; t != nil {
		c := Parted{Whole: l.Linear(x.Whole, "latent"), Parts: l.Linear(x.Parts, "latent")}
		c = normParts(graph.LatentNorm(t), c, l.W.In("latent-norm."))
		return l.Linear(c.Parts, "value-up")
	}
	inner, group := l.Spec.Heads*l.Spec.HeadWidth, l.Spec.Groups()*l.Spec.HeadWidth
	axis := 1
	if l.Product.OutFirst {
		axis = 0
	}
	w := SliceAxis(l.W("qkv.weight"), axis, AxisRange(inner+group, inner+2*group))
	parts := l.Product.Layer(x.Parts, codes.Float(w))
	if clip := l.Spec.ProjectionClip; clip > 0 { // a line through the origin, as an activation
		slope := graph.ClipSlope(l.Product.Layer(x.Whole, codes.Float(w)), clip)
		parts = Mul(parts, InsertAxes(slope, -2))
	}
	return parts
}

// AttentionParts is the attention output with its parts, Σ_s α^h[t,s] v^h_{s,k} W_O^h, given the
// parts of the values, [G,S,K,E]. The biases of value and output count as one (Modarressi et al.
// 2023, A.1), because the rows of attention sum to 1.
func AttentionParts(b *graph.Block, values *Node) Parted {
	l := graph.LayerOf(b)
	owners, width := values.Shape().Dimensions[2], l.Spec.ValueWidth()
	attention := l.Grouped(b.Attention) // [1,G,H/G,N,S]
	n := attention.Shape().Dimensions[3]
	mixed := b.Einsum("grns,gske->nkgre", Squeeze(attention, 0), values)
	mixed = Reshape(mixed, 1, n, owners, l.Spec.Heads*width)
	parts := l.Product.Layer(mixed, codes.Float(l.W("output.weight"))) // [1,N,K,D]
	if bias := attentionBias(b); bias != nil {
		parts = share(parts, bias)
	}
	return Parted{Whole: b.AttentionOutput, Parts: parts}
}

// attentionBias is b_V W_O + b_O, [D]; nil if there is neither bias. With sinks it differs from
// target to target, [1,N,1,D]: b_V counts as much as the row of attention sums to.
func attentionBias(b *graph.Block) *Node {
	l := graph.LayerOf(b)
	var sum *Node
	if l.Spec.OutputBias {
		sum = codes.Float(l.W("output.bias"))
	}
	if l.Spec.ProjectionBias {
		inner, group := l.Spec.Heads*l.Spec.HeadWidth, l.Spec.Groups()*l.Spec.HeadWidth
		value := SliceAxis(codes.Float(l.W("qkv.bias")), 0, AxisRange(inner+group, inner+2*group))
		byGroup := Reshape(value, 1, l.Spec.Groups(), 1, l.Spec.HeadWidth) // [1,G,1,E]
		heads := l.PerHead(byGroup)                                        // [1,H,1,E]
		if l.Spec.Sinks {
			heads = Mul(heads, ReduceAndKeep(b.Attention, ReduceSum, -1)) // [1,H,N,E]
		}
		// [1,1 or N,D]
		moved := l.Product.Layer(graph.JoinHeads(heads), codes.Float(l.W("output.weight")))
		if moved = Reshape(moved, -1, l.Spec.Width); l.Spec.Sinks {
			moved = InsertAxes(moved, 0, 1)
		} else {
			moved = Reshape(moved, -1)
		}
		if sum == nil {
			return moved
		}
		return Add(moved, codes.AlignLast(sum, moved))
	}
	return sum
}

// AfterParts are the parts of [graph.Block.After] for an attention output and an input with their
// parts.
func AfterParts(b *graph.Block, a, x Parted) *Node {
	after := wholeAfterParts(b, a, x).Parts
	return graph.WhereActive(b, after, x.Parts)
}

// wholeAfterParts is [AfterParts] for targets on which the layer works.
func wholeAfterParts(b *graph.Block, a, x Parted) Parted {
	l := graph.LayerOf(b)
	switch l.Spec.Order {
	case spec.PostNorm:
		z := layerNormParts(l, x.plus(a), "attention-norm")
		if l.Spec.Stack(l.Number) == spec.Decoding {
			return z
		}
		return layerNormParts(l, z.plus(mlpParts(l, z)), "mlp-norm")
	case spec.Parallel:
		name := "mlp-norm"
		if l.Spec.SharedNorm {
			name = "attention-norm"
		}
		return x.plus(mlpParts(l, layerNormParts(l, x, name))).plus(a)
	}
	if l.Spec.NormedResidual {
		x = layerNormParts(l, x, "attention-norm")
	}
	z := x.plus(layerNormParts(l, a, "attention-after-norm"))
	if l.Spec.Stack(l.Number) == spec.Decoding {
		return z
	}
	u := layerNormParts(l, z, "mlp-norm")
	m := layerNormParts(l, mlpParts(l, u), "mlp-after-norm")
	if l.Spec.NormedResidual {
		z = u
	}
	return z.plus(m)
}

// ScoreParts are the parts of the scores of ids [N], [N,K], given the residual stream after the
// last block at one target, x.Whole [1,1,D] and x.Parts [1,1,K,D].
func ScoreParts(d *graph.Builder, x Parted, ids *Node) *Node {
	y := x
	if !d.Spec.NoFinalNorm {
		y = normParts(d.Spec, x, d.W.In("final-norm."))
	}
	y.Whole = d.Final(x.Whole)
	if d.Spec.ProjectsOut() {
		y.Parts = d.Product.With(y.Parts, codes.Float(d.W("head-projection.weight")), 0)
	}
	inner := hiddenOf(d, y.Whole)
	if inner.dense != "" {
		y.Parts = d.Product.With(y.Parts, codes.Float(d.W(inner.dense+".weight")), 0)
		if d.DenseBias(inner.dense) {
			y.Parts = share(y.Parts, d.W(inner.dense+".bias"))
		}
		slope := graph.ActivationSlope(d.Spec.HeadActivation, inner.before, d.W)
		y.Parts = Mul(y.Parts, InsertAxes(slope, -2))
		if inner.norm != "" {
			y = normParts(d.Spec, Parted{Whole: inner.active, Parts: y.Parts}, d.W.In(inner.norm))
		}
	}
	rows, bias := outputRows(d, ids)                                        // [N,W], [N]
	parts := Squeeze(y.Parts, 0, 1)                                         // [K,W]
	scores := ReduceSum(Mul(InsertAxes(rows, 1), InsertAxes(parts, 0)), -1) // [N,K]
	if along := outputBiasAlong(d); along != nil {
		shares := absShares(ReduceAndKeep(Mul(parts, InsertAxes(along, 0)), ReduceSum, -1)) // [K,1]
		scores = Add(scores, Mul(InsertAxes(bias, -1), Transpose(shares, 0, 1)))
	}
	whole := Add(ReduceSum(Mul(rows, Reshape(inner.out, 1, -1)), -1), bias) // [N]
	return Mul(scores, InsertAxes(graph.CapSlope(whole, d.Spec.LogitCap), -1))
}

// outputBiasAlong is W b, [W], for the output projection W and its bias b over all scores, nil
// without a bias. The dot product of a vector with it is that of the vector's scores with b.
func outputBiasAlong(d *graph.Builder) *Node {
	if !d.Spec.HeadBias {
		return nil
	}
	table, bias := outputTable(d)
	return Reshape(d.Product.With(InsertAxes(codes.Float(d.W(bias)), 0), table, 0), -1)
}

// shareByExpert adds a bias [XF] to parts [M,K,XF]: that of each expert as [share] does.
func shareByExpert(l *graph.Layer, parts, bias *Node) *Node {
	dims, experts := parts.Shape().Dimensions, l.ExpertWeights.Shape().Dimensions[1]
	parts = TransposeAllAxes(Reshape(parts, dims[0], dims[1], experts, -1), 0, 2, 1, 3)
	parts = share(parts, Reshape(codes.Float(bias), experts, 1, -1)) // [M,X,K,F]
	return Reshape(TransposeAllAxes(parts, 0, 2, 1, 3), dims...)
}
