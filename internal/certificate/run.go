package certificate

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models"
	"github.com/headwater-ml/headwater/models/spec"
)

// run is a certificate in the making.
type run struct {
	ctx  context.Context
	m    *models.Model
	opts Options
	ids  []int
	half bool
}

// against is the tolerance against a recording, layers that of two computations of all layers with
// the same weights, and between that of two computations of one layer.
func (r *run) against(single float64) float64 { return r.tolerance(single, HalfTolerance) }
func (r *run) layers(single float64) float64  { return r.tolerance(single, HalfLayersTolerance) }
func (r *run) between(single float64) float64 { return r.tolerance(single, HalfSameTolerance) }

// tolerance is that of the weights' type.
func (r *run) tolerance(single, half float64) float64 {
	if r.half {
		return half
	}
	return single
}

// scoreFactors returns by how much the tolerance of attention grows in each layer, [L], 1 or more;
// see [ScoreRounding]. terms is [L,H,3,T,T]. With weights in bfloat16 nothing grows.
func (r *run) scoreFactors(terms trace.Tensor) []float64 {
	arch, n := r.m.Spec(), terms.Shape[3]
	factors := slices.Repeat([]float64{1}, arch.Layers)
	for l := range factors {
		if r.half {
			break
		}
		for h := range arch.Heads {
			head := terms.Data[(l*arch.Heads+h)*3*n*n:][:3*n*n]
			for i := range n * n {
				size := 0.0 // of a source that the target does not see, terms are 0
				for k := range 3 {
					size += math.Abs(float64(head[k*n*n+i]))
				}
				if arch.ScoreCap > 0 {
					size = min(size, arch.ScoreCap)
				}
				grown := ScoreRounding * math.Exp2(-24) * size / TapTolerance
				if grown < math.Inf(1) { // what is not finite is wrong, and grants nothing
					factors[l] = max(factors[l], grown)
				}
			}
		}
	}
	return factors
}

// spread returns the factors of hidden states, [L+1]: each is the largest of the layers before it.
// That of state l+1 is that of the attention of layer l too, whose input may be less precise.
func (r *run) spread(factors []float64) []float64 {
	all := []float64{1}
	for _, f := range factors {
		all = append(all, max(f, all[len(all)-1]))
	}
	return all
}

// sentence is a text that every tokenizer knows.
const sentence = "The keys to the cabinet are on the table, and nobody has seen them second."

// text returns the ids of the checks that need no golden: the first text of the golden, a sentence,
// or ids spread over the vocabulary.
func (r *run) text() []int {
	if r.opts.Golden != nil {
		if texts, err := r.opts.Golden.Texts(); err == nil {
			return texts[0]
		}
	}
	var ids, target []int
	info := r.m.Info()
	if tokens, err := r.m.Encode(sentence, trace.SpecialsAuto); err == nil {
		ids = trace.IDs(tokens)
		if at := info.TargetBegin(ids); at >= 0 {
			ids, target = ids[:at], slices.Clone(ids[at:])
		}
	}
	first, size := 0, info.Vocab // of a source's ids
	if info.SourceVocab > 0 {
		first, size = info.Vocab, info.SourceVocab
	}
	const spread = 16
	if len(ids) < 2 {
		for i := range spread {
			ids = append(ids, first+(7*i+5)%size)
		}
	}
	if info.Context > 0 {
		ids = ids[:min(len(ids), info.Context)]
	}
	return append(ids, target...)
}

// withTarget returns the ids of two stacks with a target, of tokens spread over the vocabulary, if
// they have none: nothing would be checked of the decoder, nor of its cache.
func withTarget(info trace.Info, ids []int) []int {
	begin := info.TargetBegin(ids)
	if info.EncoderLayers == 0 || len(ids) == 0 || begin >= 0 && begin < len(ids)-1 {
		return ids
	}
	ids = slices.Clone(ids)
	if begin < 0 {
		ids = append(ids, info.Boundary())
	}
	const spread = 8
	for i := range min(spread, info.Room(ids)) {
		ids = append(ids, (7*i+5)%info.Vocab)
	}
	return ids
}

// cached feeds the text token by token and compares with one pass over all of it.
func (r *run) cached() ([]Check, error) {
	const name = "cached decode against one pass"
	info := r.m.Info()
	switch {
	case info.Head != trace.NextToken:
		return []Check{{Name: name, Skipped: "the model does not generate"}}, nil
	case r.lengthTurnsKeys():
		return []Check{{Name: name, Skipped: "the length of the text changes how its keys are " +
			"turned, and those in a cache stay as they were, in the reference as well"}}, nil
	case len(r.ids) < 3:
		return []Check{{
			Name:    name,
			Skipped: fmt.Sprintf("a text of %d tokens is too short", len(r.ids)),
		}}, nil
	}
	asks := []trace.MixingAsk{
		{Name: "attention", Heads: trace.Heads{Fusion: trace.EachHead}, AllRows: true},
		{Name: "value-zeroing", AllRows: true},
	}
	whole, err := r.rows(asks)
	if err != nil {
		return nil, err
	}
	logits, err := r.m.Trace(r.ctx, r.ids, []trace.Tap{trace.Logits})
	if err != nil {
		return nil, err
	}
	sizes, err := r.sizes()
	if err != nil {
		return nil, err
	}
	probabilities := compared(name+": probabilities", r.layers(TapTolerance))
	attention := compared(name+": attention", r.layers(TapTolerance))
	zeroing := compared(name+": Value Zeroing", r.layers(TapTolerance))
	prompt := max(1, len(r.ids)/2, r.boundary()+1)
	ask := trace.Ask{Mixings: asks, Continuation: r.ids[prompt:]}
	for step, err := range r.m.Steps(r.ctx, r.ids[:prompt], ask) {
		if err != nil {
			return nil, err
		}
		last := step.First + step.Count - 1
		if step.Next != nil {
			want := probability(logits[0].Data[last*info.Vocab:(last+1)*info.Vocab],
				step.Next.Token.ID)
			probabilities.by(sizes[info.Layers]).number(math.Abs(step.Next.Probability-want),
				func() string { return fmt.Sprintf("target %d", last) })
			probabilities.check.Compared++
		}
		for k, c := range []*comparison{attention, zeroing} {
			compareRow(c, step.Rows[k], whole[k], last, sizes)
		}
	}
	return []Check{probabilities.check, attention.check, zeroing.check}, nil
}

// sizes are the factors of hidden states of the text, [L+1]; see spread.
func (r *run) sizes() ([]float64, error) {
	terms, err := r.m.Trace(r.ctx, r.ids, []trace.Tap{trace.Terms})
	if err != nil {
		return nil, err
	}
	return r.spread(r.scoreFactors(terms[0])), nil
}

// lengthTurnsKeys is whether rotary frequencies change while the text grows, so that a pass over
// all of it differs from one over its beginning.
func (r *run) lengthTurnsKeys() bool {
	rotary := r.m.Spec().Rotary
	return rotary != nil && (rotary.Stretch > 0 || rotary.LongFrequencies != nil) &&
		len(r.ids) > rotary.Original
}

// rows returns the rows of the whole text, without generating.
func (r *run) rows(asks []trace.MixingAsk) ([]trace.Rows, error) {
	for step, err := range r.m.Steps(r.ctx, r.ids[:len(r.ids)-1],
		trace.Ask{Mixings: asks, MaxTokens: 1}) {
		return step.Rows, err
	}
	return nil, fmt.Errorf("the model yields no step")
}

// compareRow compares the row of one target in every layer and head, where the whole has it. sizes
// are the factors of hidden states.
func compareRow(c *comparison, got, want trace.Rows, target int, sizes []float64) {
	if target >= want.First+want.N {
		return
	}
	for l := range got.L {
		c.by(sizes[l+1])
		for h := range got.H {
			row := got.Row(l, h, target-got.First)
			in := fmt.Sprintf("layer %d, head %d, target %d,", l, h, target)
			c.array(in, row, want.Row(l, h, target-want.First)[:len(row)], "S", []int{len(row)})
		}
	}
}

// probability returns that of one entry.
func probability(logits []float32, id int) float64 {
	top, sum := float64(slices.Max(logits)), 0.0
	for _, x := range logits {
		sum += math.Exp(float64(x) - top)
	}
	return math.Exp(float64(logits[id])-top) / sum
}

// backends compares every tap with that of another backend.
func (r *run) backends() ([]Check, error) {
	const name = "every tap against another backend"
	if r.opts.Other == nil {
		return []Check{{Name: name, Skipped: "there is no other backend to compare with"}}, nil
	}
	other, err := r.opts.Other()
	if err != nil {
		return nil, err
	}
	own, second := r.m.Info(), other.Info()
	if own.Hash != second.Hash {
		return nil, fmt.Errorf("the model on %s and the one on %s are not the same", own.Backend,
			second.Backend)
	}
	taps := own.Taps()
	got, err := r.m.Trace(r.ctx, r.ids, taps)
	if err != nil {
		return nil, err
	}
	want, err := other.Trace(r.ctx, r.ids, taps)
	if err != nil {
		return nil, err
	}
	sizes, err := r.sizes()
	if err != nil {
		return nil, err
	}
	c := compared(fmt.Sprintf("every tap on %s against %s", own.Backend, second.Backend),
		r.layers(LogitsTolerance)).by(sizes[own.Layers])
	for i := range got {
		c.array(got[i].Name, got[i].Data, want[i].Data, got[i].Axes, got[i].Shape)
	}
	return []Check{c.check}, nil
}

// sampled returns up to n numbers below size, the ends among them.
func sampled(size, n int) []int {
	if size <= n {
		n = size
	}
	var out []int
	for i := range n {
		out = append(out, i*(size-1)/max(1, n-1))
	}
	return slices.Compact(out)
}

// valueZeroing zeroes value vectors one by one, runs the block again, and compares the distances
// with the tap.
func (r *run) valueZeroing() ([]Check, error) {
	ts, err := r.m.Trace(r.ctx, r.ids, []trace.Tap{trace.Hidden, trace.ValueZeroing})
	if err != nil {
		return nil, err
	}
	hidden, tap := ts[0], ts[1]
	width := hidden.Shape[2]
	c := compared("Value Zeroing against zeroed values", r.between(TapTolerance))
	for _, l := range sampled(r.m.Info().Layers, 4) {
		clean, err := r.withoutValue(l, layer(hidden, l), -1)
		if err != nil {
			return nil, err
		}
		for _, s := range sampled(len(r.ids), 4) {
			without, err := r.withoutValue(l, layer(hidden, l), s)
			if err != nil {
				return nil, err
			}
			for t := range r.ids {
				want := distance(without[t*width:(t+1)*width], clean[t*width:(t+1)*width])
				if !works(r.m.Spec(), r.boundary(), l, t) { // all that it has is its own
					want = 0
					if s == t {
						want = 1
					}
				}
				got := float64(layer(tap, l)[t*len(r.ids)+s])
				c.number(math.Abs(got-want), func() string {
					return fmt.Sprintf("layer %d, target %d, source %d", l, t, s)
				})
				c.check.Compared++
			}
		}
	}
	return []Check{c.check}, nil
}

// withoutValue returns the residual stream after layer l on x, [T,D], with the value of a source
// zeroed; -1 zeroes none. A layer of two stacks does not run on its own.
func (r *run) withoutValue(l int, x []float32, source int) ([]float32, error) {
	if r.m.Spec().Encoder == 0 {
		return r.m.WithoutValue(r.ctx, l, x, source)
	}
	var edits []trace.Edit
	if source >= 0 {
		edits = []trace.Edit{{
			Tap: trace.Value, Layers: []int{l}, Positions: []int{source}, Change: trace.SetZero,
		}}
	}
	ts, err := r.m.Run(r.ctx, r.ids, []trace.Tap{trace.Hidden}, edits)
	if err != nil {
		return nil, err
	}
	return layer(ts[0], l+1), nil
}

// boundary is where the target begins in the text of a model of two stacks, -1 for others.
func (r *run) boundary() int { return slices.Index(r.ids, r.m.Info().Boundary()) }

// valueOutputs adds up the value of every source after the output projection, weighted by attention
// in float64, and compares with the output of the head: the projection is linear, so that
//
//	head-output_t = Σ_s attention_ts · value-output_s
func (r *run) valueOutputs() ([]Check, error) {
	ts, err := r.m.Trace(r.ctx, r.ids,
		[]trace.Tap{trace.Attention, trace.ValueOutput, trace.HeadOutput})
	if err != nil {
		return nil, err
	}
	attention, written, output := ts[0], ts[1], ts[2]
	n, width := len(r.ids), output.Shape[3]
	c := compared("value outputs against head outputs", r.between(TapTolerance))
	heads := r.m.Info().Heads
	for lh := range r.m.Info().Layers * heads {
		weights := attention.Data[lh*n*n : (lh+1)*n*n]
		for t := range n { // a token that the layer leaves as it is reads nothing
			if !works(r.m.Spec(), r.boundary(), lh/heads, t) {
				clear(weights[t*n : (t+1)*n])
			}
		}
		want := read(weights, written.Data[lh*n*width:(lh+1)*n*width], n)
		c.array(fmt.Sprintf("layer %d, head %d,", lh/heads, lh%heads),
			output.Data[lh*n*width:(lh+1)*n*width], want, "TD", []int{n, width})
	}
	return []Check{c.check}, nil
}

// read returns what n targets read with attention [n,n] from values [n,D], [n,D].
func read(attention, values []float32, n int) []float32 {
	width := len(values) / n
	out := make([]float32, len(values))
	for t := range n {
		sum := make([]float64, width)
		for s, a := range attention[t*n : (t+1)*n] {
			for d, v := range values[s*width : (s+1)*width] {
				sum[d] += float64(a) * float64(v)
			}
		}
		for d, v := range sum {
			out[t*width+d] = float32(v)
		}
	}
	return out
}

// distance is 1 - cos(a,b) in float64.
func distance(a, b []float32) float64 {
	aa, bb := 0.0, 0.0
	for i := range a {
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	sum := 0.0
	for i := range a {
		d := float64(a[i])/math.Sqrt(max(aa, 1e-60)) - float64(b[i])/math.Sqrt(max(bb, 1e-60))
		sum += d * d
	}
	return sum / 2
}

// softmaxOfTerms compares every row of attention with the softmax, in float64, of the sum of its
// three terms.
func (r *run) softmaxOfTerms() ([]Check, error) {
	ts, err := r.m.Trace(r.ctx, r.ids, []trace.Tap{trace.Terms, trace.Attention})
	if err != nil {
		return nil, err
	}
	terms, attention, spec := ts[0], ts[1], r.m.Spec()
	n := len(r.ids)
	c := compared("attention against the softmax of its terms", r.between(TapTolerance))
	factors := r.scoreFactors(terms)
	for lh := range spec.Layers * spec.Heads {
		c.by(factors[lh/spec.Heads])
		for t := range n {
			sees := func(s int) bool {
				return seesSource(spec, r.boundary(), lh/spec.Heads, t, s)
			}
			want := softmaxRow(spec, terms.Data[lh*3*n*n:(lh+1)*3*n*n], t, n, sees)
			row := attention.Data[(lh*n+t)*n : (lh*n+t+1)*n]
			if spec.Sinks {
				row = ofOne(row)
			}
			c.array(fmt.Sprintf("layer %d, head %d, target %d,", lh/spec.Heads, lh%spec.Heads, t),
				row, want, "S", []int{n})
		}
	}
	return []Check{c.check}, nil
}

// ofOne returns a row of attention divided by its sum: what is left beside a sink.
func ofOne(row []float32) []float32 {
	sum := float32(0)
	for _, a := range row {
		sum += a
	}
	of := make([]float32, len(row))
	for i, a := range row {
		of[i] = a / sum
	}
	return of
}

// works reports whether layer l works on token t, of two stacks whose target begins at boundary.
func works(arch *spec.Spec, boundary, l, t int) bool {
	stack := arch.Stack(l)
	return stack == spec.OneStack || (t < boundary) == (stack == spec.Encoding)
}

// seesSource reports whether target t may see source s in layer l. Of two stacks the target begins
// at boundary, and a token that the layer leaves as it is looks at itself.
func seesSource(arch *spec.Spec, boundary, l, t, s int) bool {
	switch stack := arch.Stack(l); {
	case stack == spec.OneStack:
	case !works(arch, boundary, l, t):
		return s == t
	case stack == spec.Decoding:
		return boundary <= s && s <= t
	default:
		return s < boundary
	}
	w := arch.Window(l)
	return (arch.Bidirectional || s <= t) && (w == 0 || max(t-s, s-t) < w)
}

// softmaxRow returns row t of the softmax of terms [3,T,S] over the sources that target t sees.
func softmaxRow(spec *spec.Spec, terms []float32, t, n int, sees func(s int) bool) []float32 {
	scores, top := make([]float64, n), math.Inf(-1)
	for s := range n {
		for k := range 3 {
			scores[s] += float64(terms[(k*n+t)*n+s])
		}
		if c := spec.ScoreCap; c > 0 {
			scores[s] = c * math.Tanh(scores[s]/c)
		}
		if sees(s) {
			top = max(top, scores[s])
		}
	}
	sum := 0.0
	for s := range n {
		if !sees(s) {
			scores[s] = 0
			continue
		}
		scores[s] = math.Exp(scores[s] - top)
		sum += scores[s]
	}
	row := make([]float32, n)
	for s := range n {
		row[s] = float32(scores[s] / sum)
	}
	return row
}
