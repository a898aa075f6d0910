package transformer

import (
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/models/spec"
)

// parted is vectors, [1,N,D], and their parts, one per token, [1,N,K,D]: each vector is the sum of
// its parts.
type parted struct{ whole, parts *Node }

// plus is the sum of two.
func (v parted) plus(u parted) parted {
	return parted{whole: Add(v.whole, u.whole), parts: Add(v.parts, u.parts)}
}

// share adds a bias [D] to parts p, [...,K,D], by AbsDot (Modarressi et al. 2023, eq. 5 and 6):
//
//	p_k + ω_k b,  ω_k = |p_k·b| / Σ_j |p_j·b|
//
// A bias at right angles to all parts goes to none of them.
func share(parts, bias *Node) *Node {
	along := ReduceAndKeep(Mul(parts, alignLast(bias, parts)), ReduceSum, -1) // [...,K,1]
	return Add(parts, Mul(absShares(along), alignLast(bias, parts)))
}

// absShares is |x| divided by its sum over the K of [...,K,1]; 0 if that sum is 0.
func absShares(x *Node) *Node {
	x = Abs(x)
	return Div(x, MaxScalar(ReduceAndKeep(x, ReduceSum, -2), 1e-30))
}

// normParts is a norm of v: linear in the parts, because the spread is that of the whole, with its
// bias shared among them.
func normParts(s *spec.Spec, v parted, w byName) parted {
	parts := normedPart(s, v.parts, InsertAxes(v.whole, -2), w)
	if s.NormBias() {
		parts = share(parts, w("bias"))
	}
	return parted{whole: norm(s, v.whole, w), parts: parts}
}

// normParts is [normParts] with the layer's norm of that name.
func layerNormParts(l *Layer, v parted, name string) parted {
	if !l.spec.HasNorm(l.number, name) {
		return parted{whole: l.asAdded(v.whole, name), parts: l.asAdded(v.parts, name)}
	}
	return normParts(l.spec, v, l.w.in(name+"."))
}

// denseParts is x W + b of parts, for a projection of the feed-forward part. Parts are float32,
// whatever the weights are.
func denseParts(l *Layer, parts *Node, name string) *Node {
	parts = l.linearIn(parts, float(l.w(name+".weight")), name)
	switch {
	case !l.spec.MLPBias:
		return parts
	case l.expertWeights == nil:
		return share(parts, l.w(name+".bias"))
	case name == "down": // the biases of all experts count as one
		return share(parts, InsertAxes(l.expertBiases(), 1))
	}
	return shareByExpert(l, parts, l.w(name+".bias"))
}

// mlpParts is the feed-forward part of v. The weights of experts are constants, as attention is.
func mlpParts(l *Layer, v parted) parted {
	m := l.spec.MixtureOf(l.number)
	if m == nil {
		return feedForwardParts(l, v)
	}
	whole, parts := v.whole.Shape().Dimensions, v.parts.Shape().Dimensions
	width := whole[len(whole)-1]
	v = parted{Reshape(v.whole, -1, width), Reshape(v.parts, -1, parts[len(parts)-2], width)}
	y := feedForwardParts(l.experts(m, l.route(m, v.whole)), v)
	if m.Shared > 0 {
		shared := feedForwardParts(l.shared(), v)
		if m.SharedGate {
			weight := Sigmoid(l.linear(v.whole, "shared-gate"))
			shared = parted{Mul(shared.whole, weight), Mul(shared.parts, InsertAxes(weight, -1))}
		}
		y = y.plus(shared)
	}
	return parted{Reshape(y.whole, whole...), Reshape(y.parts, parts...)}
}

// feedForwardParts is [Block.feedForward] of v. An activation is the line through the origin and
// its value, θ = f(x)/x (Modarressi et al. 2023, eq. 10). A product of two projections gives half
// to each, as the Shapley value does:
//
//	m = down(θ·up x),         m_k = down(θ·up_k)
//	m = down(θ·gate x·up x),  m_k = down(θ·(gate_k·up x + gate x·up_k)/2)
//
// A limit counts as an activation, and an offset o of up x adds o·θ·gate_k.
func feedForwardParts(l *Layer, v parted) parted {
	s, activation := l.spec, l.spec.Activation
	dense := func(name string) parted {
		return parted{whole: l.mlpDense(v.whole, name), parts: denseParts(l, v.parts, name)}
	}
	up := dense("up")
	hidden := parted{}
	if l.spec.Gated {
		gate := dense("gate")
		if s.InnerLimit > 0 {
			slope := clipSlope(up.whole, s.InnerLimit)
			up = parted{Mul(up.whole, slope), Mul(up.parts, InsertAxes(slope, -2))}
			slope = limitSlope(gate.whole, s.InnerLimit)
			gate = parted{Mul(gate.whole, slope), Mul(gate.parts, InsertAxes(slope, -2))}
		}
		slope := activationSlope(activation, gate.whole, l.w)
		if s.SwishScale != 0 {
			slope = activationSlope(activation, MulScalar(gate.whole, s.SwishScale), l.w)
		}
		active, other := Mul(slope, gate.whole), MulScalar(up.whole, 0.5)
		hidden.whole = Mul(active, up.whole)
		if s.UpOffset != 0 {
			hidden.whole = Mul(active, AddScalar(up.whole, s.UpOffset))
			other = AddScalar(other, s.UpOffset)
		}
		hidden.parts = Add(Mul(gate.parts, InsertAxes(Mul(slope, other), -2)),
			MulScalar(Mul(up.parts, InsertAxes(active, -2)), 0.5))
	} else {
		hidden.whole = activate(activation, up.whole, l.w)
		hidden.parts = Mul(up.parts, InsertAxes(activationSlope(activation, up.whole, l.w), -2))
	}
	hidden.whole, hidden.parts = l.byExpert(hidden.whole), l.byExpert(hidden.parts)
	return parted{
		whole: l.mlpDense(hidden.whole, "down"),
		parts: denseParts(l, hidden.parts, "down"),
	}
}

// valueParts are the values of the parts of the layer's input x, without the bias, [G,N,K,E].
func valueParts(l *Layer, x parted) *Node {
	parts := joinedValueParts(l, x)
	dims := parts.Shape().Dimensions
	parts = Reshape(parts, dims[1], dims[2], l.spec.Groups(), l.spec.ValueWidth())
	return TransposeAllAxes(parts, 2, 0, 1, 3)
}

// joinedValueParts is valueParts with the groups side by side, [1,N,K,GE].
func joinedValueParts(l *Layer, x parted) *Node {
	switch {
	case l.spec.Stack(l.number) == spec.Crossing && l.spec.MemoryNorm:
		x = layerNormParts(l, x, "memory-norm")
	case l.spec.Stack(l.number) == spec.Crossing: // the output of the encoder as it is
	case l.spec.Order != spec.PostNorm:
		x = layerNormParts(l, x, "attention-norm")
	}
	if t := l.spec.Latent; t != nil {
		c := parted{whole: l.linear(x.whole, "latent"), parts: l.linear(x.parts, "latent")}
		c = normParts(latentNorm(t), c, l.w.in("latent-norm."))
		return l.linear(c.parts, "value-up")
	}
	inner, group := l.spec.Heads*l.spec.HeadWidth, l.spec.Groups()*l.spec.HeadWidth
	axis := 1
	if l.product.outFirst {
		axis = 0
	}
	w := SliceAxis(l.w("qkv.weight"), axis, AxisRange(inner+group, inner+2*group))
	parts := l.product.layer(x.parts, float(w))
	if clip := l.spec.ProjectionClip; clip > 0 { // a line through the origin, as an activation
		slope := clipSlope(l.product.layer(x.whole, float(w)), clip)
		parts = Mul(parts, InsertAxes(slope, -2))
	}
	return parts
}

// attentionParts is the attention output with its parts, Σ_s α^h[t,s] v^h_{s,k} W_O^h, given the
// parts of the values, [G,S,K,E]. The biases of value and output count as one (Modarressi et al.
// 2023, A.1), because the rows of attention sum to 1.
func attentionParts(b *Block, values *Node) parted {
	l := layerOf(b)
	owners, width := values.Shape().Dimensions[2], l.spec.ValueWidth()
	attention := l.grouped(b.Attention) // [1,G,H/G,N,S]
	n := attention.Shape().Dimensions[3]
	mixed := b.Einsum("grns,gske->nkgre", Squeeze(attention, 0), values)
	mixed = Reshape(mixed, 1, n, owners, l.spec.Heads*width)
	parts := l.product.layer(mixed, float(l.w("output.weight"))) // [1,N,K,D]
	if bias := attentionBias(b); bias != nil {
		parts = share(parts, bias)
	}
	return parted{whole: b.AttentionOutput, parts: parts}
}

// attentionBias is b_V W_O + b_O, [D]; nil if there is neither bias. With sinks it differs from
// target to target, [1,N,1,D]: b_V counts as much as the row of attention sums to.
func attentionBias(b *Block) *Node {
	l := layerOf(b)
	var sum *Node
	if l.spec.OutputBias {
		sum = float(l.w("output.bias"))
	}
	if l.spec.ProjectionBias {
		inner, group := l.spec.Heads*l.spec.HeadWidth, l.spec.Groups()*l.spec.HeadWidth
		value := SliceAxis(float(l.w("qkv.bias")), 0, AxisRange(inner+group, inner+2*group))
		byGroup := Reshape(value, 1, l.spec.Groups(), 1, l.spec.HeadWidth) // [1,G,1,E]
		heads := l.perHead(byGroup)                                        // [1,H,1,E]
		if l.spec.Sinks {
			heads = Mul(heads, ReduceAndKeep(b.Attention, ReduceSum, -1)) // [1,H,N,E]
		}
		moved := l.product.layer(joinHeads(heads), float(l.w("output.weight"))) // [1,1 or N,D]
		if moved = Reshape(moved, -1, l.spec.Width); l.spec.Sinks {
			moved = InsertAxes(moved, 0, 1)
		} else {
			moved = Reshape(moved, -1)
		}
		if sum == nil {
			return moved
		}
		return Add(moved, alignLast(sum, moved))
	}
	return sum
}

// afterParts are the parts of [Block.After] for an attention output and an input with their parts.
func afterParts(b *Block, a, x parted) *Node {
	after := wholeAfterParts(b, a, x).parts
	return whereActive(b, after, x.parts)
}

// wholeAfterParts is [Block.afterParts] for targets on which the layer works.
func wholeAfterParts(b *Block, a, x parted) parted {
	l := layerOf(b)
	switch l.spec.Order {
	case spec.PostNorm:
		z := layerNormParts(l, x.plus(a), "attention-norm")
		if l.spec.Stack(l.number) == spec.Decoding {
			return z
		}
		return layerNormParts(l, z.plus(mlpParts(l, z)), "mlp-norm")
	case spec.Parallel:
		name := "mlp-norm"
		if l.spec.SharedNorm {
			name = "attention-norm"
		}
		return x.plus(mlpParts(l, layerNormParts(l, x, name))).plus(a)
	}
	if l.spec.NormedResidual {
		x = layerNormParts(l, x, "attention-norm")
	}
	z := x.plus(layerNormParts(l, a, "attention-after-norm"))
	if l.spec.Stack(l.number) == spec.Decoding {
		return z
	}
	u := layerNormParts(l, z, "mlp-norm")
	m := layerNormParts(l, mlpParts(l, u), "mlp-after-norm")
	if l.spec.NormedResidual {
		z = u
	}
	return z.plus(m)
}

// scoreParts are the parts of the scores of ids [N], [N,K], given the residual stream after the
// last block at one target, x.whole [1,1,D] and x.parts [1,1,K,D].
func scoreParts(d *builder, x parted, ids *Node) *Node {
	y := x
	if !d.spec.NoFinalNorm {
		y = normParts(d.spec, x, d.w.in("final-norm."))
	}
	y.whole = d.final(x.whole)
	if d.spec.ProjectsOut() {
		y.parts = d.product.with(y.parts, float(d.w("head-projection.weight")), 0)
	}
	inner := hiddenOf(d, y.whole)
	if inner.dense != "" {
		y.parts = d.product.with(y.parts, float(d.w(inner.dense+".weight")), 0)
		if d.denseBias(inner.dense) {
			y.parts = share(y.parts, d.w(inner.dense+".bias"))
		}
		slope := activationSlope(d.spec.HeadActivation, inner.before, d.w)
		y.parts = Mul(y.parts, InsertAxes(slope, -2))
		if inner.norm != "" {
			y = normParts(d.spec, parted{whole: inner.active, parts: y.parts}, d.w.in(inner.norm))
		}
	}
	rows, bias := outputRows(d, ids)                                        // [N,W], [N]
	parts := Squeeze(y.parts, 0, 1)                                         // [K,W]
	scores := ReduceSum(Mul(InsertAxes(rows, 1), InsertAxes(parts, 0)), -1) // [N,K]
	if along := outputBiasAlong(d); along != nil {
		shares := absShares(ReduceAndKeep(Mul(parts, InsertAxes(along, 0)), ReduceSum, -1)) // [K,1]
		scores = Add(scores, Mul(InsertAxes(bias, -1), Transpose(shares, 0, 1)))
	}
	whole := Add(ReduceSum(Mul(rows, Reshape(inner.out, 1, -1)), -1), bias) // [N]
	return Mul(scores, InsertAxes(capSlope(whole, d.spec.LogitCap), -1))
}

// outputBiasAlong is W b, [W], for the output projection W and its bias b over all scores, nil
// without a bias. The dot product of a vector with it is that of the vector's scores with b.
func outputBiasAlong(d *builder) *Node {
	if !d.spec.HeadBias {
		return nil
	}
	table, bias := outputTable(d)
	return Reshape(d.product.with(InsertAxes(float(d.w(bias)), 0), table, 0), -1)
}
