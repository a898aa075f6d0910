package transformer_test

import (
	"math"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
)

// relevances sends relevance back through a model by the rules of Achtibat et al. 2024 as they are
// written, from layer to layer and without a gradient: an implementation that shares nothing with
// the graph. Everything that arrives somewhere is shared out, and what no token gets is counted.
type relevances struct {
	spec *spec.Spec
	// param returns weights, of a layer while relevance is in it.
	param func(name string) []float32
	// kept is what biases, positions and the constant of softmax keep.
	kept float64
}

// share is the ε-rule with ε = 0 for one term of a sum: term/sum·r.
func share(term, sum, r float64) float64 {
	if r == 0 {
		return 0
	}
	return term / sum * r
}

// sum shares r out among the terms of a sum: those of a and b.
func (v *relevances) sum(a, b, r []float64) (of, with []float64) {
	of, with = make([]float64, len(r)), make([]float64, len(r))
	for i := range r {
		of[i], with[i] = share(a[i], a[i]+b[i], r[i]), share(b[i], a[i]+b[i], r[i])
	}
	return of, with
}

// keep shares r out between x and something that belongs to no token, whose part is counted.
func (v *relevances) keep(x, constant, r []float64) []float64 {
	of, with := v.sum(x, constant, r)
	for _, k := range with {
		v.kept += k
	}
	return of
}

// dense takes r of x W + b to x.
func (v *relevances) dense(name string, x, r []float64, bias bool) []float64 {
	w := v.param(name + ".weight")
	y := times(x, w)
	if bias {
		r = v.keep(y, wide(v.param(name+".bias")), r)
	}
	out, of := len(y), make([]float64, len(x))
	for i := range x {
		for j := range y {
			of[i] += share(x[i]*float64(w[i*out+j]), y[j], r[j])
		}
	}
	return of
}

// norm takes r of a norm of x to x: the identity rule for what is scaled, the ε-rule for the mean
// that is taken off.
func (v *relevances) norm(name string, x, r []float64) []float64 {
	if v.spec.RMS {
		return r
	}
	y := norm(v.spec, x, v.param(name+".gain"), v.param(name+".bias"))
	bias := wide(v.param(name + ".bias"))
	for i := range y {
		y[i] -= bias[i]
	}
	r = v.keep(y, bias, r)
	mean, n := 0.0, float64(len(x))
	for _, k := range x {
		mean += k / n
	}
	of := make([]float64, len(x))
	for i := range x {
		for j := range x { // x_j - Σ_i x_i/n
			term := -x[i] / n
			if i == j {
				term += x[i]
			}
			of[i] += share(term, x[j]-mean, r[j])
		}
	}
	return of
}

// mlp takes r of the feed-forward part of x to x. Of each expert's share half goes to its output
// and half to its weight.
func (v *relevances) mlp(b *layer, x, r []float64) []float64 {
	m := b.spec.MixtureOf(b.index)
	if m == nil {
		return v.feedForward(b, "", x, r)
	}
	all, of := b.mlp(x), make([]float64, len(x))
	var ofWeights []float64
	for _, e := range b.experts(x) {
		part := b.feedForward(e, x)
		own, sum := make([]float64, len(r)), 0.0
		for i := range own {
			own[i] = share(part[i], all[i], r[i])
			sum += own[i] / 2
		}
		if e.prefix == "shared." && !m.SharedGate {
			of = plus(of, v.feedForward(b, e.prefix, x, own))
			continue
		}
		of, ofWeights = plus(of, v.feedForward(b, e.prefix, x, scaled(own, 0.5))), append(ofWeights,
			sum)
	}
	if m.SharedGate { // l·σ'(l)/σ(l) = l·(1-σ(l))
		logit, last := b.times("shared-gate", x), len(ofWeights)-1
		to := []float64{ofWeights[last] * logit[0] * (1 - 1/(1+math.Exp(-logit[0])))}
		v.kept += ofWeights[last] - to[0]
		of, ofWeights = plus(of, v.dense("shared-gate", x, to, false)), ofWeights[:last]
	}
	return plus(of, v.router(b, m, x, ofWeights))
}

// router takes the relevance of the weights of the chosen experts to x, through the softmax of all
// experts or, where weights are divided by their sum, of the chosen ones: l_i (R_i - p_i ΣR), times
// 1-σ(l_i) where probabilities are sigmoids, which are divided by their sum here.
func (v *relevances) router(b *layer, m *spec.Mixture, x, r []float64) []float64 {
	logits := b.dense("router", x, m.RouterBias)
	of, weights, all := make([]float64, len(logits)), softmax64(logits), 0.0
	chosen := b.experts(x)[:m.Chosen]
	for i := range logits {
		at := slices.IndexFunc(chosen, func(e expert) bool { return e.prefix == expertName(i) })
		if at >= 0 {
			of[i], all = r[at], all+r[at]
		}
		if m.Renormalize {
			if weights[i] = 0; at >= 0 {
				weights[i] = chosen[at].weight
				if m.Scale != 0 {
					weights[i] /= m.Scale
				}
			}
		}
	}
	for i, l := range logits {
		kept := of[i]
		if of[i] -= weights[i] * all; m.Sigmoid { // σ' = σ(1-σ)
			of[i] /= 1 + math.Exp(l)
		}
		of[i] *= l
		v.kept += kept - of[i]
	}
	return v.dense("router", x, of, m.RouterBias)
}

// feedForward takes r of one feed-forward part of x to x: the identity rule for the activation,
// half for each factor of a gate.
func (v *relevances) feedForward(b *layer, prefix string, x, r []float64) []float64 {
	bias := v.spec.MLPBias
	up := b.dense(prefix+"up", x, bias)
	if !v.spec.Gated {
		r = v.dense(prefix+"down", b.activated(up), r, bias)
		return v.dense(prefix+"up", x, r, bias)
	}
	half := scaled(v.dense(prefix+"down", b.inner(prefix, x), r, bias), 0.5)
	ofUp := half
	if o := v.spec.UpOffset; o != 0 {
		offset := make([]float64, len(up))
		for i := range up {
			offset[i] = o
			up[i] = min(max(up[i], -v.spec.InnerLimit), v.spec.InnerLimit)
		}
		ofUp = v.keep(up, offset, half)
	}
	return plus(v.dense(prefix+"up", x, ofUp, bias), v.dense(prefix+"gate", x, half, bias))
}

// attention takes r of the attention output of every target, [T][D], to the input of the
// projections u: half of each product of attention and value to the value, half to attention.
func (v *relevances) attention(b *layer, u, r [][]float64) [][]float64 {
	n, e, bias := len(u), v.spec.HeadWidth, v.spec.ProjectionBias
	width := v.spec.ValueWidth()
	query, key, value := zeros(n, v.spec.Heads*e), zeros(n, v.spec.Groups()*e), zeros(n,
		v.spec.Groups()*width)
	for t := range n {
		var context []float64
		for h := range v.spec.Heads {
			context = append(context, b.context(h, t, -1)...)
		}
		projected := v.dense("output", context, r[t], v.spec.OutputBias)
		for h := range v.spec.Heads {
			g, of := h/(v.spec.Heads/v.spec.Groups()), make([]float64, n)
			for s := range n {
				for i := range width {
					half := share(b.attention[h][t][s]*b.value[h][s][i], context[h*width+i],
						projected[h*width+i]) / 2
					of[s] += half
					value[s][g*width+i] += half
				}
			}
			v.softmax(b, h, t, of)
			for s := range n {
				if b.sees(t, s) {
					v.score(b, u, h, t, s, of[s], query[t][h*e:(h+1)*e], key[s][g*e:(g+1)*e])
				}
			}
		}
	}
	out := make([][]float64, n)
	for t := range n {
		if v.spec.Latent != nil {
			out[t] = v.latents(b, u[t], query[t], key[t], value[t])
			continue
		}
		out[t] = plus(v.dense("query", u[t], query[t], bias), v.dense("key", u[t], key[t], bias))
		out[t] = plus(out[t], v.dense("value", u[t], value[t], bias))
	}
	return out
}

// latents takes the relevance of the query, key and value of all heads to u. The norms of latents
// have no mean, so they pass it on.
func (v *relevances) latents(b *layer, u, query, key, value []float64) []float64 {
	t := v.spec.Latent
	normed := func(name string) []float64 {
		of := &spec.Spec{RMS: true, NormEpsilon: t.Epsilon}
		return norm(of, b.times(name, u), b.weight(name+"-norm.gain"), nil)
	}
	var of []float64
	if t.Queries > 0 {
		of = v.dense("query-up", normed("query-latent"), query, false)
		of = v.dense("query-latent", u, of, false)
	} else {
		of = v.dense("query-up", u, query, false)
	}
	shared, own := make([]float64, t.Shared), []float64{}
	for h := range v.spec.Heads {
		head := key[h*v.spec.HeadWidth : (h+1)*v.spec.HeadWidth]
		shared, own = plus(shared, head[:t.Shared]), append(own, head[t.Shared:]...)
	}
	c := normed("latent")
	toC := plus(v.dense("key-up", c, own, false), v.dense("value-up", c, value, false))
	of = plus(of, v.dense("latent", u, toC, false))
	return plus(of, v.dense("shared-key", u, shared, false))
}

// softmax takes the relevance of a target's attention to its scores: x_s (R_s - a_s ΣR),
// Proposition 3.1.
func (v *relevances) softmax(b *layer, h, t int, r []float64) {
	all := 0.0
	for _, x := range r {
		all += x
	}
	for s := range r {
		of := b.scores[h][t][s] * (r[s] - b.attention[h][t][s]*all)
		v.kept += r[s] - of
		r[s] = of
	}
}

// score adds the relevance of one score, half each, to that of the query and of the key before
// they are turned.
func (v *relevances) score(b *layer, u [][]float64, h, t, s int, r float64, query, key []float64) {
	content := b.content[h][t][s] + b.queryBias[h][t][s]
	q, turnedQuery := placements(b, "query", u[t], h, t, len(u))
	k, turnedKey := placements(b, "key", u[s], h/(v.spec.Heads/v.spec.Groups()), s, len(u))
	if b.spec.Relative != nil { // each of its terms has one factor that depends on the text
		ofKey, ofQuery := b.distanceVectors(h, t-s)
		score := content + b.alibi[h][t][s]
		for i := range query {
			query[i] += share(turnedQuery[i]*ofKey[i]*b.scale(), score, r)
			key[i] += share(turnedKey[i]*ofQuery[i]*b.scale(), score, r)
		}
		r *= content / score
	} else {
		r = v.keep([]float64{content}, []float64{b.alibi[h][t][s]}, []float64{r})[0]
	}
	half := make([]float64, len(query))
	for i := range half {
		half[i] = share(turnedQuery[i]*turnedKey[i]*b.scale(), content, r) / 2
	}
	add(query, turnBack(b, q, turnedQuery, half))
	add(key, turnBack(b, k, turnedKey, half))
}

// placements are the query or key of a head that u makes, normed, before and after it is turned by
// its position in a text of n tokens.
func placements(b *layer, name string, u []float64, h, position, n int) (before, after []float64) {
	var all []float64
	if b.spec.Latent == nil {
		all = b.dense(name, u, b.spec.ProjectionBias)
	} else if all, _, _ = b.fromLatents(u); name == "key" {
		_, all, _ = b.fromLatents(u)
	}
	x := b.head(h, all)
	return b.placed(name, x, x, 0, n), b.placed(name, x, x, position, n)
}

// turnBack takes the relevance of a turned vector to what it was before: each pair is two sums of
// two terms.
func turnBack(b *layer, before, after, r []float64) []float64 {
	rotary := b.spec.Rotary
	if b.spec.LocalRotary != nil && b.spec.Windows[b.index] > 0 {
		rotary = b.spec.LocalRotary
	}
	of := slices.Clone(r)
	if b.spec.Positions != spec.RotaryPositions {
		return of
	}
	half := len(rotary.Frequencies)
	for pair := range half {
		i, j := pair, pair+half
		if rotary.Neighbours {
			i, j = 2*pair, 2*pair+1
		}
		turn := complex(after[i], after[j]) / complex(before[i], before[j])
		cos, sin := real(turn), imag(turn)
		of[i] = share(before[i]*cos, after[i], r[i]) + share(before[i]*sin, after[j], r[j])
		of[j] = share(-before[j]*sin, after[i], r[i]) + share(before[j]*cos, after[j], r[j])
	}
	return of
}

// block takes r of the residual stream after a layer, [T][D], to that before it.
func (v *relevances) block(b *layer, r [][]float64) [][]float64 {
	v.param = b.weight
	s, n := v.spec, len(b.x)
	u, toInput, toAttention := make([][]float64, n), make([][]float64, n), make([][]float64, n)
	for t, x := range b.x {
		u[t] = x
		if s.Order != spec.PostNorm {
			u[t] = b.norm("attention-norm", x)
		}
		a := make([]float64, s.Width)
		for h := range s.Heads {
			a = plus(a, b.headOutput(h, b.context(h, t, -1)))
		}
		if s.OutputBias {
			a = plus(a, wide(b.weight("output.bias")))
		}
		toInput[t], toAttention[t] = v.after(b, x, a, r[t])
	}
	toU := v.attention(b, u, toAttention)
	for t, x := range b.x {
		if s.Order != spec.PostNorm {
			toU[t] = v.norm("attention-norm", x, toU[t])
		}
		toInput[t] = plus(toInput[t], toU[t])
	}
	return toInput
}

// after takes r of the output of a block to its input x, but for what attention makes of it, and
// to the attention output a.
func (v *relevances) after(b *layer, x, a, r []float64) (toX, toA []float64) {
	s := v.spec
	switch s.Order {
	case spec.PostNorm:
		z := b.norm("attention-norm", plus(x, a))
		toZ, toM := v.sum(z, b.mlp(z), v.norm("mlp-norm", plus(z, b.mlp(z)), r))
		toZ = plus(toZ, v.mlp(b, z, toM))
		return v.sum(x, a, v.norm("attention-norm", plus(x, a), toZ))
	case spec.Parallel:
		name := "mlp-norm"
		if s.SharedNorm {
			name = "attention-norm"
		}
		u := b.norm(name, x)
		m := b.mlp(u)
		toRest, toA := v.sum(plus(x, m), a, r)
		toX, toM := v.sum(x, m, toRest)
		return plus(toX, v.norm(name, x, v.mlp(b, u, toM))), toA
	}
	before, carried := a, x
	if s.NormAfter {
		a = b.norm("attention-after-norm", before)
	}
	if s.NormedResidual {
		carried = b.norm("attention-norm", x)
	}
	z := plus(carried, a)
	u := b.norm("mlp-norm", z)
	m, residual := b.mlp(u), z
	if s.NormAfter {
		m = b.norm("mlp-after-norm", m)
	}
	if s.NormedResidual {
		residual = u
	}
	toResidual, toM := v.sum(residual, m, r)
	if s.NormAfter {
		toM = v.norm("mlp-after-norm", b.mlp(u), toM)
	}
	toU := v.mlp(b, u, toM)
	if s.NormedResidual {
		toU = plus(toU, toResidual)
		toResidual = make([]float64, len(z))
	}
	toX, toA = v.sum(carried, a, plus(toResidual, v.norm("mlp-norm", z, toU)))
	if s.NormedResidual {
		toX = v.norm("attention-norm", x, toX)
	}
	if s.NormAfter {
		toA = v.norm("attention-after-norm", before, toA)
	}
	return toX, toA
}

// head takes the logit of a token, and that of a contrast with a minus, to the residual stream y
// after the last block.
func (v *relevances) head(g *golden, y []float64, o trace.Objective) []float64 {
	v.param = func(name string) []float32 { return g.params[name] }
	final := y
	if !v.spec.NoFinalNorm {
		final = norm(v.spec, y, v.param("final-norm.gain"), v.param("final-norm.bias"))
	}
	var r []float64
	if w := v.param("head-projection.weight"); w != nil {
		r = v.dense("head-projection", final, v.scored(times(final, w), o), false)
	} else {
		r = v.scored(final, o)
	}
	if v.spec.NoFinalNorm {
		return r
	}
	return v.norm("final-norm", y, r)
}

// scored takes the objective to what the head is given.
func (v *relevances) scored(x []float64, o trace.Objective) []float64 {
	s, dense, named := v.spec, "", ""
	switch {
	case s.HeadTransform:
		dense, named = "head-transform", "head-norm"
	case s.ClassifierDense:
		dense = "classifier-dense"
	}
	active, out := x, x
	if dense != "" {
		active = activated(s.HeadActivation, plus(times(x, v.param(dense+".weight")),
			wide(v.param(dense+".bias"))))
		out = active
	}
	if named != "" {
		out = norm(s, active, v.param(named+".gain"), v.param(named+".bias"))
	}
	r := v.row(out, o.Token, 1)
	if o.Contrast != nil {
		r = plus(r, v.row(out, *o.Contrast, -1))
	}
	if named != "" {
		r = v.norm(named, active, r)
	}
	if dense != "" {
		r = v.dense(dense, x, r, true)
	}
	return r
}

// row takes a score times sign to x, of which it is a product with a row of the table.
func (v *relevances) row(x []float64, id int, sign float64) []float64 {
	w, bias := make([]float64, len(x)), 0.0
	switch {
	case v.spec.Head != spec.LanguageHead:
		k := v.spec.Classes
		if v.spec.Discriminates() { // the score of the first of two classes is 0
			if id == 0 {
				return make([]float64, len(x))
			}
			id = 0
		}
		for i := range w {
			w[i] = float64(v.param("classifier.weight")[i*k+id])
		}
		if v.spec.HeadBias {
			bias = float64(v.param("classifier.bias")[id])
		}
	default:
		table := v.param("head")
		if v.spec.TiedHead {
			table = v.param("embedding")
		}
		w = wide(table[id*len(x) : (id+1)*len(x)])
		if v.spec.HeadBias {
			bias = float64(v.param("head-bias")[id])
		}
	}
	score := dot(w, x)
	r := v.keep([]float64{score}, []float64{bias},
		[]float64{sign * cap64(score+bias, v.spec.LogitCap)})[0]
	of := make([]float64, len(x))
	for i := range x {
		of[i] = share(x[i]*w[i], score, r)
	}
	return of
}

// embedding takes r of the residual stream before block 0 to the row of the embedding of token t
// of ids.
func (v *relevances) embedding(g *golden, ids []int, t int, r []float64) []float64 {
	s := v.spec
	v.param = func(name string) []float32 { return g.params[name] }
	e := g.rowsOf(ids)[t]
	if s.EmbeddingScale != 0 {
		e = scaled(e, s.EmbeddingScale)
	}
	x := e
	projected := s.Embedded() != s.Width
	if projected && s.ProjectTokens {
		x = times(e, v.param("embedding-projection.weight"))
	}
	added := make([]float64, len(x))
	if s.Positions == spec.LearnedPositions {
		position := 0
		for i := range t {
			if !s.SkipPosition || ids[i] != s.SkipID {
				position++
			}
		}
		if s.SkipPosition && ids[t] == s.SkipID {
			position = -1
		}
		added = plus(added,
			wide(v.param("positions")[(position+s.PositionOffset)*len(x):][:len(x)]))
	}
	if s.TokenTypes > 0 {
		added = plus(added, wide(v.param("token-types")[:len(x)]))
	}
	sum := plus(x, added)
	normed := sum
	if s.EmbeddingNorm {
		normed = norm(s, sum, v.param("embedding-norm.gain"), v.param("embedding-norm.bias"))
	}
	if projected && !s.ProjectTokens {
		r = v.dense("embedding-projection", normed, r, true)
	}
	if s.EmbeddingNorm {
		r = v.norm("embedding-norm", sum, r)
	}
	r = v.keep(x, added, r)
	if projected && s.ProjectTokens {
		r = v.dense("embedding-projection", e, r, false)
	}
	return r
}

func scaled(x []float64, by float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = v * by
	}
	return y
}

func add(to, x []float64) {
	for i, v := range x {
		to[i] += v
	}
}

func zeros(n, width int) [][]float64 {
	m := make([][]float64, n)
	for i := range m {
		m[i] = make([]float64, width)
	}
	return m
}
