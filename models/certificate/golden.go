package certificate

import (
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/checkpoint"
	"github.com/headwater-ml/headwater/models/transformer"
)

// Golden is a recording of what a model computes on a batch of B texts of T tokens: the tensors input_ids [B,T], logits [B,T,V] or [B,K],
// attn.l [B,H,T,T] and hidden.l [B,T,D] with l from 0, of which the last is behind the final norm. With the prefix pad. the same for
// a batch of which padmask [B,T] is 1 where there is a token; with types. for token_type_ids [B,T]; and greedy [1,T+n], the first text
// with n more tokens, none of which is end-of-text. Parts may be missing.
type Golden struct{ file *checkpoint.File }

// OpenGolden opens a recording. It returns an error if it is not one.
func OpenGolden(path string) (*Golden, error) {
	f, err := checkpoint.Open(path)
	if err != nil {
		return nil, err
	}
	shape, err := f.Shape("input_ids")
	if err == nil && (len(shape) != 2 || shape[0] < 1 || shape[1] < 1) {
		err = fmt.Errorf("certificate: %s: input_ids has shape %v, not [B,T]", path, shape)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: is %s a golden?", err, path)
	}
	return &Golden{f}, nil
}

// Close closes the recording.
func (g *Golden) Close() error { return g.file.Close() }

// ids returns the texts, [B][T].
func (g *Golden) ids() ([][]int, error) { return g.rows("input_ids") }

// rows returns an integer matrix.
func (g *Golden) rows(name string) ([][]int, error) {
	data, err := g.file.Int64(name)
	if err != nil {
		return nil, err
	}
	shape, err := g.file.Shape(name)
	if err != nil {
		return nil, err
	}
	if len(shape) != 2 || shape[1] < 1 {
		return nil, fmt.Errorf("certificate: %s: %s has shape %v, not a matrix", g.file.Name(), name, shape)
	}
	var out [][]int
	for row := range slices.Chunk(data, shape[1]) {
		ids := make([]int, len(row))
		for i, id := range row {
			ids[i] = int(id)
		}
		out = append(out, ids)
	}
	return out, nil
}

// batch returns the texts of a pass without padding, and the slot where each begins.
func (g *Golden) batch(pass string, bidirectional bool) (b transformer.Batch, begins []int, err error) {
	ids, err := g.ids()
	if err != nil {
		return b, nil, err
	}
	begins = make([]int, len(ids))
	switch pass {
	case "types.":
		b.Types, err = g.rows("token_type_ids")
	case "pad.":
		mask, e := g.rows("padmask")
		if err = e; err != nil {
			break
		}
		b.PadLeft = !bidirectional
		for i := range ids {
			ids[i], begins[i], err = unpadded(ids[i], mask[min(i, len(mask)-1)])
		}
	}
	b.IDs = ids
	return b, begins, err
}

// unpadded returns the ids whose mask is 1, which stand together, and where they begin.
func unpadded(ids, mask []int) ([]int, int, error) {
	begin := slices.Index(mask, 1)
	if len(mask) != len(ids) || begin < 0 {
		return nil, 0, fmt.Errorf("certificate: padmask leaves no token of a text")
	}
	end := begin
	for end < len(mask) && mask[end] == 1 {
		end++
	}
	return ids[begin:end], begin, nil
}

// part returns text i of a recorded tensor, from slot begin on n places along the given axes, counted without the batch.
func (g *Golden) part(name string, i, begin, n int, axes ...int) ([]float32, []int, error) {
	data, err := g.file.Float32(name)
	if err != nil {
		return nil, nil, err
	}
	shape, err := g.file.Shape(name)
	if err != nil {
		return nil, nil, err
	}
	if i >= shape[0] {
		return nil, nil, fmt.Errorf("certificate: %s: %s has %d texts, input_ids more", g.file.Name(), name, shape[0])
	}
	size := len(data) / shape[0]
	data, shape = data[i*size:(i+1)*size], slices.Clone(shape[1:])
	for _, axis := range axes {
		if axis >= len(shape) || begin+n > shape[axis] {
			return nil, nil, fmt.Errorf("certificate: %s: %s has shape %v, which does not hold %d tokens", g.file.Name(), name, shape, begin+n)
		}
		data = along(data, shape, axis, begin, n)
		shape[axis] = n
	}
	return data, shape, nil
}

// along keeps n places from begin on of one axis.
func along(data []float32, shape []int, axis, begin, n int) []float32 {
	inner := 1
	for _, d := range shape[axis+1:] {
		inner *= d
	}
	var out []float32
	for block := range slices.Chunk(data, shape[axis]*inner) {
		out = append(out, block[begin*inner:(begin+n)*inner]...)
	}
	return out
}

// golden compares every pass of the recording.
func (r *run) golden() ([]Check, error) {
	if r.opts.Golden == nil {
		return []Check{{Name: "taps against a recording", Skipped: "no golden was given (--golden FILE)"}}, nil
	}
	var all []Check
	for _, pass := range []struct{ prefix, name string }{{"", ""}, {"pad.", "padded "}, {"types.", "typed "}} {
		if !r.opts.Golden.file.Has(pass.prefix + "hidden.0") {
			continue
		}
		checks, err := r.recorded(pass.prefix, pass.name)
		if err != nil {
			return nil, err
		}
		all = append(all, checks...)
	}
	if all == nil {
		return nil, fmt.Errorf("%s has no hidden states: is it a golden?", r.opts.Golden.file.Name())
	}
	return all, nil
}

// recorded compares one pass.
func (r *run) recorded(pass, name string) ([]Check, error) {
	g, info := r.opts.Golden, r.m.Info()
	batch, begins, err := g.batch(pass, info.Bidirectional)
	if err != nil {
		return nil, err
	}
	taps := []trace.Tap{trace.Attention, trace.Hidden, trace.Final}
	scored := g.file.Has(pass + "logits")
	if scored {
		taps = append(taps, trace.Logits)
	}
	texts, err := r.m.Forward(r.ctx, batch, taps)
	if err != nil {
		return nil, err
	}
	attention, hidden := compared(name+"attention", r.tolerance(TapTolerance)), compared(name+"hidden states", r.tolerance(TapTolerance))
	logits := compared(name+"logits", r.tolerance(LogitsTolerance))
	for i, ts := range texts {
		begin, n := begins[i], len(batch.IDs[i])
		for l := range info.Layers {
			if !g.file.Has(fmt.Sprintf("%sattn.%d", pass, l)) {
				continue
			}
			want, shape, err := g.part(fmt.Sprintf("%sattn.%d", pass, l), i, begin, n, 1, 2)
			if err != nil {
				return nil, err
			}
			attention.array(fmt.Sprintf("text %d, layer %d,", i, l), layer(ts[0], l), want, "HTS", shape)
		}
		for l := range info.Layers + 1 {
			got := ts[2].Data // behind the final norm
			if l < info.Layers {
				got = layer(ts[1], l)
			}
			want, shape, err := g.part(fmt.Sprintf("%shidden.%d", pass, l), i, begin, n, 0)
			if err != nil {
				return nil, err
			}
			hidden.array(fmt.Sprintf("text %d, layer %d,", i, l), got, want, "TD", shape)
		}
		if scored {
			if err := r.scores(logits, ts[3], pass, i, begin, n); err != nil {
				return nil, err
			}
		}
	}
	checks := []Check{attention.check, hidden.check}
	if scored {
		checks = append(checks, logits.check)
	}
	return checks, nil
}

// scores compares the logits of one text.
func (r *run) scores(c *comparison, got trace.Tensor, pass string, i, begin, n int) error {
	axes := []int{0}
	if got.Axes == "K" {
		axes = nil
	}
	want, _, err := r.opts.Golden.part(pass+"logits", i, begin, n, axes...)
	if err != nil {
		return err
	}
	c.array(fmt.Sprintf("text %d,", i), got.Data, want, got.Axes, got.Shape)
	return nil
}

// layer returns layer l of a tensor whose first axis is the layers.
func layer(t trace.Tensor, l int) []float32 {
	size := len(t.Data) / t.Shape[0]
	return t.Data[l*size : (l+1)*size]
}

// greedy follows the recorded tokens on a cache: each must be the most probable one, end-of-text left out. The error is by how much
// another one is more probable.
func (r *run) greedy() ([]Check, error) {
	if r.opts.Golden == nil || !r.opts.Golden.file.Has("greedy") {
		return nil, nil
	}
	rows, err := r.opts.Golden.rows("greedy")
	if err != nil {
		return nil, err
	}
	prompts, err := r.opts.Golden.ids()
	if err != nil {
		return nil, err
	}
	begin := len(prompts[0])
	if len(rows[0]) <= begin {
		return nil, fmt.Errorf("greedy has %d tokens, no more than input_ids", len(rows[0]))
	}
	c := compared("greedy tokens", 0)
	ask := trace.Ask{Continuation: rows[0][begin:], Alternatives: 8}
	at := begin
	for step, err := range r.m.Steps(r.ctx, rows[0][:begin], ask) {
		if err != nil {
			return nil, err
		}
		if step.Next == nil {
			continue
		}
		better := 0.0
		for _, a := range step.Next.Alternatives {
			if !r.m.Ends(a.Token.ID) {
				better = max(0, a.Probability-step.Next.Probability)
				break
			}
		}
		c.number(better, func() string { return fmt.Sprintf("token %d", at) })
		c.check.Compared++
		at++
	}
	return []Check{c.check}, nil
}
