package attributiontest

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// pass has what a [Model] computes for one target.
type pass struct {
	m         *Model
	t         int
	x         [][]float64   // [T,D], the inputs
	query     [][]float64   // [H,E], of the target
	key       [][][]float64 // [H,T,E]
	values    [][][]float64 // [H,T,E]
	attention [][]float64   // [H,T]
	y, logits []float64     // [D], [V]
}

// run computes target t of a query's text. Later tokens get the attention 0. Embeddings of the
// query, [T,D], replace those of its ids; the positions are added to either.
func (m *Model) run(q trace.Query, t int) *pass {
	p := &pass{m: m, t: t, logits: make([]float64, words)}
	for s, id := range q.IDs {
		x := make([]float64, width)
		for d := range x {
			// x_s = e_s + p_s
			x[d] = m.embedding[id][d] + m.position[s][d]
			if q.Embeddings != nil {
				x[d] = float64(q.Embeddings[s*width+d]) + m.position[s][d]
			}
		}
		p.x = append(p.x, x)
	}
	for h := range heads {
		p.attend(h)
	}
	p.y = append([]float64{}, p.x[t]...)
	for s := range p.x {
		floats.AddScaled(p.y, 1, p.read(s))
	}
	for id := range p.logits {
		p.logits[id] = dot(p.y, p.unembedding(trace.Objective{Token: id}))
	}
	return p
}

// attend computes query, keys, values and attention of a head. The exponent is not shifted by its
// maximum: scores of so small a model do not overflow.
func (p *pass) attend(h int) {
	q := times(p.x[p.t], p.m.query[h])
	var keys, values [][]float64
	a, sum := make([]float64, len(p.x)), 0.0
	for s, x := range p.x {
		keys, values = append(keys, times(x, p.m.key[h])), append(values, times(x, p.m.value[h]))
		if s <= p.t {
			a[s] = math.Exp(dot(q, keys[s]) / math.Sqrt(narrow))
			sum += a[s]
		}
	}
	for s := range a {
		a[s] /= sum
	}
	p.query, p.key = append(p.query, q), append(p.key, keys)
	p.values, p.attention = append(p.values, values), append(p.attention, a)
}

// read returns the vector that the target reads from source s, Σ_h A v W_O, [D]. The sum over s of
// what it returns, plus the residual stream of the target, is y.
func (p *pass) read(s int) []float64 {
	out := make([]float64, width)
	for h := range heads {
		floats.AddScaled(out, p.attention[h][s], times(p.values[h][s], p.m.output[h]))
	}
	return out
}

// part returns what source s adds to y, [D]; for the target itself that includes the residual
// stream.
func (p *pass) part(s int) []float64 {
	out := p.read(s)
	if s == p.t {
		floats.AddScaled(out, 1, p.x[s])
	}
	return out
}

// unembedding returns the weighted sum of the columns of U that an objective names, [D]. A logit
// and a difference of two logits are both y times such a column.
func (p *pass) unembedding(o trace.Objective) []float64 {
	u := make([]float64, width)
	for _, w := range o.Sum() {
		for d := range u {
			u[d] += w.Weight * p.m.head[d*words+w.Token]
		}
	}
	return u
}

// softmax returns the probability of every word, [V].
func (p *pass) softmax() []float64 {
	all, sum := make([]float64, words), 0.0
	for id, z := range p.logits {
		all[id] = math.Exp(z)
		sum += all[id]
	}
	for id := range all {
		all[id] /= sum
	}
	return all
}

// value returns the number that an objective asks for.
func (p *pass) value(o trace.Objective) float64 {
	of := func(id int) float64 {
		switch o.Quantity {
		case trace.Probability:
			return p.softmax()[id]
		case trace.LogProbability:
			return math.Log(p.softmax()[id])
		}
		return p.logits[id]
	}
	sum := 0.0
	for _, w := range o.Sum() {
		sum += w.Weight * of(w.Token)
	}
	return sum
}

// logitGradient returns ∂value/∂logits, [V]. With e_a the unit vector of token a and p the softmax:
//
//	∂z_a = e_a,  ∂log p_a = e_a - p,  ∂p_a = p_a (e_a - p)
//
// each times its factor in [trace.Objective.Sum].
func (p *pass) logitGradient(o trace.Objective) []float64 {
	out, probability := make([]float64, words), p.softmax()
	addOf := func(id int, sign float64) {
		switch o.Quantity {
		case trace.Probability:
			floats.AddScaled(out, -sign*probability[id], probability)
			out[id] += sign * probability[id]
		case trace.LogProbability:
			floats.AddScaled(out, -sign, probability)
			out[id] += sign
		default:
			out[id] += sign
		}
	}
	for _, w := range o.Sum() {
		addOf(w.Token, w.Weight)
	}
	return out
}

// backward returns the gradient. With [trace.RelevanceGradient] each factor of q·k and of A·v gets
// half. Only the target's row of attention is differentiated: the model has one layer, so no other
// row reaches the prediction.
func (p *pass) backward(q trace.Query, rule trace.Backward) trace.Gradient {
	T, o := len(p.x), q.Objective
	share := 1.0
	if rule == trace.RelevanceGradient {
		share = 0.5
	}
	// ∂f/∂y = U ∂f/∂logits
	dy := make([]float64, width)
	for id, g := range p.logitGradient(o) {
		floats.AddScaled(dy, g, p.unembedding(trace.Objective{Token: id}))
	}
	dx, dA := make([][]float64, T), make([]float32, heads*T*T)
	for s := range dx {
		dx[s] = make([]float64, width)
	}
	// The residual stream of the target is added to y as it is.
	floats.AddScaled(dx[p.t], 1, dy)
	for h := range heads {
		for s, g := range p.backwardHead(h, dy, dx, share) {
			dA[(h*T+p.t)*T+s] = float32(g)
		}
	}
	out := trace.Gradient{Value: p.value(o)}
	for _, x := range dx {
		for _, g := range x {
			out.Data = append(out.Data, float32(g))
		}
	}
	if rule == trace.WithAttention {
		out.Attention, out.AttentionData = make([]float32, heads*T*T), dA
		// A gradient has the attention of all targets, [1,H,T,T], so each is computed.
		for t := range T { // of which only the target's reaches the prediction
			for h, head := range p.m.run(q, t).attention {
				for s, a := range head {
					out.Attention[(h*T+t)*T+s] = float32(a)
				}
			}
		}
	}
	return out
}

// backwardHead adds the gradient through head h to dx, [T,D], and returns the gradient of its
// attention, [T]. dy, [D], is the gradient of the output; share is the part that each factor of a
// product gets. With c = Σ_s A_s v_s the context and z_s the scores:
//
//	∂c = W_O ∂y,  ∂A_s = ∂c·v_s,  ∂v_s = A_s ∂c,  ∂z_s = A_s (∂A_s - Σ_r A_r ∂A_r)
//	∂q = Σ_s ∂z_s k_s / √E,  ∂k_s = ∂z_s q / √E
//
// A v and q k are products, whose factors get share of their derivatives.
func (p *pass) backwardHead(h int, dy []float64, dx [][]float64, share float64) []float64 {
	a, dContext := p.attention[h], timesTransposed(dy, p.m.output[h], narrow)
	dA, mean := make([]float64, len(a)), 0.0
	for s := range a {
		// mean is Σ_r A_r ∂A_r, which the softmax takes away from each.
		dA[s] = dot(dContext, p.values[h][s])
		mean += a[s] * dA[s]
		dv := make([]float64, narrow)
		floats.AddScaled(dv, share*a[s], dContext)
		floats.AddScaled(dx[s], 1, timesTransposed(dv, p.m.value[h], width))
	}
	// The query is that of the target, so its derivative is a sum over the sources.
	dq := make([]float64, narrow)
	for s := range a {
		dScore := share * a[s] * (dA[s] - mean) / math.Sqrt(narrow)
		floats.AddScaled(dq, share*dScore, p.key[h][s])
		dk := make([]float64, narrow)
		floats.AddScaled(dk, share*dScore, p.query[h])
		floats.AddScaled(dx[s], 1, timesTransposed(dk, p.m.key[h], width))
	}
	floats.AddScaled(dx[p.t], 1, timesTransposed(dq, p.m.query[h], width))
	return dA
}

// times returns x W, x [n] and W [n,k]. It is the sum of the rows of W times the numbers of x.
func times(x, w []float64) []float64 {
	k := len(w) / len(x)
	out := make([]float64, k)
	for i, v := range x {
		floats.AddScaled(out, v, w[i*k:(i+1)*k])
	}
	return out
}

// timesTransposed returns W x, x [k] and W [n,k].
func timesTransposed(x, w []float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = dot(x, w[i*len(x):(i+1)*len(x)])
	}
	return out
}

// dot returns Σ_i a_i b_i, in index order.
func dot(a, b []float64) float64 {
	sum := 0.0
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}
