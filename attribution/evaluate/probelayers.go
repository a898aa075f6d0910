package evaluate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// Labelled is a text with the label of one of its words, such as plural.
type Labelled struct {
	Text string `json:"text"`
	// Span are the bytes [begin,end) of the word whose vector is probed, at the last token that
	// touches them; [0,0] is the last token of the text that is no control token.
	Span  [2]int `json:"span"`
	Label string `json:"label"`
}

// recorder is a model that returns raw tensors.
type recorder interface {
	trace.Model
	trace.Tracer
}

// Probing is how well a linear probe reads a label in each hidden state of a model.
type Probing struct {
	Model trace.Info `json:"model"`
	// Labels are the classes, sorted; their index is the class.
	Labels []string `json:"labels"`
	// States are the codes of the L+1 hidden states: that of the embedding, then after each layer,
	// the last one before the final norm.
	States []*CodeLength `json:"states"`
}

// maxLabelled is how many examples are probed at most.
const maxLabelled = 1_000_000

// Probe computes the online code length of labels for each hidden state of a model; see
// [OnlineCode]. The examples are shuffled by the seed of the options, the same for all states. The
// model runs once on each text. The hidden states of all probed words are kept: N·(L+1)·D·4 bytes,
// and 8·N·D more while one of them is probed; it returns a [trace.MemoryError] before the first
// text if a [trace.Budgeted] model has less. A span outside its text is a [trace.UsageError] before
// the first text too. Other errors name the example: a text of no tokens, a span without a token,
// or an error of the model; or they are those of [OnlineCode].
func Probe(
	ctx context.Context, m interface {
		trace.Model
		trace.Tracer
	}, examples []Labelled, opts ProbeOptions,
) (*Probing, error) {
	if _, err := opts.complete(); err != nil {
		return nil, err
	}
	if len(examples) > maxLabelled {
		return nil, probeUsage("%d examples; at most %d", len(examples), maxLabelled)
	}
	for i, e := range examples {
		if s := e.Span; s != [2]int{} && (s[0] < 0 || s[0] >= s[1] || s[1] > len(e.Text)) {
			return nil, probeUsage("example %d of %d: bytes %d to %d of a text of %d bytes; want "+
				"0 ≤ begin < end ≤ %d", i, len(examples), s[0], s[1], len(e.Text), len(e.Text))
		}
	}
	info := m.Info()
	if err := fitsProbe(m, len(examples)); err != nil {
		return nil, err
	}
	p := &Probing{Model: info}
	for _, e := range examples {
		p.Labels = append(p.Labels, e.Label)
	}
	slices.Sort(p.Labels)
	p.Labels = slices.Compact(p.Labels)
	order := rand.New(rand.NewPCG(opts.Seed, 2020)).Perm(len(examples))
	labels := make([]int, len(examples))
	for i, at := range order {
		labels[i], _ = slices.BinarySearch(p.Labels, examples[at].Label)
	}
	states, err := recordWords(ctx, m, examples, order, opts)
	if err != nil {
		return nil, err
	}
	for l, features := range states {
		if opts.OnProgress != nil {
			opts.OnProgress(trace.Progress{
				Stage: "probing", Unit: "state", Done: l, Total: len(states),
			})
		}
		c, err := OnlineCode(ctx, features, labels, len(p.Labels), opts)
		if err != nil {
			return nil, err
		}
		p.States = append(p.States, c)
		states[l] = nil
	}
	return p, nil
}

// recordWords returns the hidden states of the words of N examples in an order, L+1 times [N,D].
func recordWords(
	ctx context.Context, m recorder, examples []Labelled, order []int, opts ProbeOptions,
) ([][]float32, error) {
	n, D := len(order), m.Info().Width
	states := make([][]float32, m.Info().Layers+1)
	for l := range states {
		states[l] = make([]float32, n*D)
	}
	for i, at := range order {
		if opts.OnProgress != nil {
			opts.OnProgress(trace.Progress{Stage: "reading texts", Unit: "text", Done: i, Total: n})
		}
		if err := recordWord(ctx, m, examples[at], opts.Specials, func(l int, x []float32) {
			copy(states[l][i*D:], x)
		}); err != nil {
			return nil, pkg.Errorf("example %d of %d: %w", at, n, err)
		}
	}
	return states, nil
}

// fitsProbe returns a [trace.MemoryError] if hidden states of n words do not fit.
func fitsProbe(m recorder, n int) error {
	b, ok := m.(trace.Budgeted)
	if !ok {
		return nil
	}
	info := m.Info()
	need := float64(n) * float64(info.Width) * float64(4*(info.Layers+1)+8)
	return b.Memory().Check(need, fmt.Sprintf("probing %d examples", n), "take fewer examples")
}

// recordWord gives use the hidden states, [D] each, of the word that an example labels.
func recordWord(
	ctx context.Context, m recorder, e Labelled, specials trace.Specials,
	use func(l int, x []float32),
) error {
	tokens, err := m.Encode(e.Text, specials)
	if err != nil {
		return err
	}
	ids, at := make([]int, len(tokens)), -1
	for t, token := range tokens {
		ids[t] = token.ID
		span := [2]int{token.Begin, token.End}
		if !token.Special && (e.Span == [2]int{} || overlaps(span, e.Span)) {
			at = t
		}
	}
	if at < 0 && e.Span == [2]int{} {
		return errors.New("the text has no token that is no control token")
	}
	if at < 0 {
		return fmt.Errorf("no token lies in bytes %d to %d of a text of %d bytes", e.Span[0],
			e.Span[1], len(e.Text))
	}
	tensors, err := m.Trace(ctx, ids, []trace.Tap{trace.Hidden})
	if err != nil {
		return err
	}
	info := m.Info()
	want := []int{info.Layers + 1, len(ids), info.Width}
	if len(tensors) != 1 || !slices.Equal(tensors[0].Shape, want) {
		return fmt.Errorf("the model recorded no tensor hidden of shape %v", want)
	}
	for l := range info.Layers + 1 {
		use(l, tensors[0].Data[(l*len(ids)+at)*info.Width:][:info.Width])
	}
	return nil
}
