package certificate

import (
	"fmt"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// NoGolden is why nothing is compared with a recording where [Options] has none.
const NoGolden = "no golden was given"

// passNames are what the checks of each pass are called.
var passNames = map[string]string{"": "", "pad.": "padded ", "types.": "typed "}

// golden compares every pass of the recording.
func (r *run) golden() ([]Check, error) {
	if r.opts.Golden == nil {
		return []Check{{Name: "taps against a recording", Skipped: NoGolden}}, nil
	}
	var all []Check
	for _, pass := range r.opts.Golden.Passes() {
		checks, err := r.recorded(pass, passNames[pass])
		if err != nil {
			return nil, err
		}
		all = append(all, checks...)
	}
	if all == nil {
		return nil, fmt.Errorf("%s has no hidden states: is it a golden?", r.opts.Golden.Name())
	}
	return all, nil
}

// recorded compares one pass.
func (r *run) recorded(pass, name string) ([]Check, error) {
	g, info := r.opts.Golden, r.m.Info()
	batch, begins, err := g.Batch(pass, info.Bidirectional || info.EncoderLayers > 0)
	if err != nil {
		return nil, err
	}
	taps := []trace.Tap{trace.Attention, trace.Hidden, trace.Final, trace.Terms}
	scored := g.Has(pass + "logits")
	if scored {
		taps = append(taps, trace.Logits)
	}
	if g.Has(fmt.Sprintf("%shidden.%d", pass, info.Layers+1)) ||
		!g.Has(fmt.Sprintf("%shidden.%d", pass, info.Layers)) {
		return nil, fmt.Errorf("%s is not of a model with %d layers: it is the "+
			"recording of another one", g.Name(), info.Layers)
	}
	texts, err := r.m.Forward(r.ctx, batch, taps)
	if err != nil {
		return nil, err
	}
	attention := compared(name+"attention", r.against(TapTolerance))
	hidden := compared(name+"hidden states", r.against(TapTolerance))
	logits := compared(name+"logits", r.against(LogitsTolerance))
	for i, ts := range texts {
		sizes := r.spread(r.scoreFactors(ts[3]))
		begin, n := begins[i], len(batch.IDs[i])
		for l := range info.Layers {
			if !g.Has(fmt.Sprintf("%sattn.%d", pass, l)) {
				continue
			}
			want, err := g.Part(fmt.Sprintf("%sattn.%d", pass, l), i, begin, n, 1, 2)
			if err != nil {
				return nil, err
			}
			attention.by(sizes[l+1]).array(fmt.Sprintf("text %d, layer %d,", i, l),
				layer(ts[0], l), want, "HTS", ts[0].Shape[1:])
		}
		for l := range info.Layers + 1 {
			got := ts[2].Data // after the final norm
			if l < info.Layers {
				got = layer(ts[1], l)
			}
			want, err := g.Part(fmt.Sprintf("%shidden.%d", pass, l), i, begin, n, 0)
			if err != nil {
				return nil, err
			}
			hidden.by(sizes[l]).array(fmt.Sprintf("text %d, layer %d,", i, l), got, want, "TD",
				ts[2].Shape)
		}
		if scored {
			logits.by(sizes[info.Layers])
			if err := r.scores(logits, ts[4], pass, i, begin, n); err != nil {
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
	want, err := r.opts.Golden.Part(pass+"logits", i, begin, n, axes...)
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

// greedy follows the recorded tokens on a cache: each must be the most probable one, end-of-text
// left out. The error is by how much another one is more probable.
func (r *run) greedy() ([]Check, error) {
	if r.opts.Golden == nil || !r.opts.Golden.Has("greedy") {
		return nil, nil
	}
	rows, err := r.opts.Golden.Rows("greedy")
	if err != nil {
		return nil, err
	}
	prompts, err := r.opts.Golden.Texts()
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
