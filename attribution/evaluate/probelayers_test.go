package evaluate_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// knower is a model of one layer and width 2. Its embedding has a number of the letter's own, and
// the state after the layer has 1 in its second place where the letter is upper case.
type knower struct {
	reader
	budget int64
	hidden func(state, position, id int) []float32
}

func (k knower) Info() trace.Info {
	info := k.reader.Info()
	info.Width = 2
	return info
}

func (k knower) Memory() trace.Memory { return trace.Memory{Left: k.budget} }

func (k knower) Trace(_ context.Context, ids []int, taps []trace.Tap) ([]trace.Tensor, error) {
	if len(taps) != 1 || taps[0] != trace.Hidden {
		return nil, fmt.Errorf("asked for %v", taps)
	}
	x := trace.Tensor{Name: "hidden", Shape: []int{2, len(ids), 2}}
	for state := range 2 {
		for t, id := range ids {
			x.Data = append(x.Data, k.hidden(state, t, id)...)
		}
	}
	return []trace.Tensor{x}, nil
}

func upper(state, _, id int) []float32 {
	own := float32(id*7919%101) / 50
	if state == 1 && id < 'a' {
		return []float32{own, 1}
	}
	return []float32{own, 0}
}

// The label of a word is read where its layer wrote it, and not before. A span chooses the word.
func TestProbe(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	var all []evaluate.Labelled
	for range 400 {
		text := []byte("....")
		label, first := "lower", byte('a')
		if rng.IntN(2) == 0 {
			label, first = "upper", 'A'
		}
		at := 1 + rng.IntN(2)
		text[at] = first + byte(rng.IntN(26))
		all = append(all, evaluate.Labelled{
			Text: string(text), Span: [2]int{at, at + 1}, Label: label,
		})
	}
	model := knower{reader: reader{name: "knower"}, budget: 1 << 20, hidden: upper}
	p, err := evaluate.Probe(context.Background(), model, all, evaluate.ProbeOptions{Seed: 3})
	must(t, err)
	if diff := cmp.Diff([]string{"lower", "upper"}, p.Labels); diff != "" || len(p.States) != 2 {
		t.Fatalf("labels %v, %d states", p.Labels, len(p.States))
	}
	if before := p.States[0]; before.Compression > 1.2 {
		t.Errorf("the embedding has compression %v, want about 1", before.Compression)
	}
	if after := p.States[1]; after.Compression < 8 || after.Examples != 400 {
		t.Errorf("after the layer: compression %v of %d", after.Compression, after.Examples)
	}
	again, err := evaluate.Probe(context.Background(), model, all, evaluate.ProbeOptions{Seed: 3})
	must(t, err)
	if diff := cmp.Diff(p, again); diff != "" {
		t.Errorf("a second run differs:\n%s", diff)
	}
	other, err := evaluate.Probe(context.Background(), model, all, evaluate.ProbeOptions{Seed: 4})
	if err != nil || other.States[0].Nats == p.States[0].Nats {
		t.Errorf("another seed gives the same code: %v, %v", other.States[0].Nats, err)
	}
}

// The vector is that of the last token of a span, or of the text.
func TestProbedToken(t *testing.T) {
	model := knower{reader: reader{name: "knower"}, budget: 1 << 20}
	model.hidden = func(state, position, id int) []float32 {
		return []float32{float32(state), float32(position)}
	}
	// Positions 2 and 3 are the labels themselves: separable only if the right token is read.
	var all []evaluate.Labelled
	for i := range 200 {
		e := evaluate.Labelled{Text: "abcd", Span: [2]int{1, 3}, Label: "two"}
		if i%2 == 0 {
			e.Span, e.Label = [2]int{}, "three"
		}
		all = append(all, e)
	}
	p, err := evaluate.Probe(context.Background(), model, all, evaluate.ProbeOptions{})
	must(t, err)
	if c := p.States[1].Compression; c < 6 {
		t.Errorf("compression %v: another token was read", c)
	}
}

func TestProbeModelRefusals(t *testing.T) {
	model := knower{reader: reader{name: "knower"}, budget: 200, hidden: upper}
	word := evaluate.Labelled{Text: "abc", Label: "x"}
	for _, c := range []struct {
		name     string
		examples []evaluate.Labelled
		opts     evaluate.ProbeOptions
		want     string
	}{
		{"one", []evaluate.Labelled{word}, evaluate.ProbeOptions{}, "1 labelled examples"},
		{"none", nil, evaluate.ProbeOptions{}, "0 labelled examples"},
		{
			"span",
			[]evaluate.Labelled{word, {Text: "abc", Span: [2]int{3, 9}}},
			evaluate.ProbeOptions{},
			"example 1 of 2: bytes 3 to 9 of a text of 3 bytes; want 0 ≤ begin < end ≤ 3",
		},
		{
			"long span",
			[]evaluate.Labelled{{Text: "abc", Span: [2]int{-4, 900}}, word},
			evaluate.ProbeOptions{},
			"example 0 of 2: bytes -4 to 900",
		},
		{"empty", []evaluate.Labelled{{Text: ""}, {Text: ""}}, evaluate.ProbeOptions{}, "the text has no token that is no control token"},
		{"option", []evaluate.Labelled{word, word}, evaluate.ProbeOptions{L2: -1}, "L2 -1"},
	} {
		_, err := evaluate.Probe(context.Background(), model, c.examples, c.opts)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	// 7 words of width 2 in two states: 7 · 2 · (4·2 + 8) = 224 bytes.
	_, err := evaluate.Probe(context.Background(), model,
		[]evaluate.Labelled{word, word, word, word, word, word, word}, evaluate.ProbeOptions{})
	var memory *trace.MemoryError
	if !errors.As(err, &memory) || memory.Need != 224 || memory.Left != 200 {
		t.Errorf("memory: %v", err)
	}
}
