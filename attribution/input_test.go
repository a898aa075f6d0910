package attribution_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// uniformHeads is [L,H,T,T], every row spread evenly over what a decoder's target sees.
func uniformHeads(layers, heads, tokens int) trace.Tensor {
	x := trace.Tensor{Name: "attention", Shape: []int{layers, heads, tokens, tokens}}
	for range layers * heads {
		for t := range tokens {
			for s := range tokens {
				v := float32(0)
				if s <= t {
					v = 1 / float32(t+1)
				}
				x.Data = append(x.Data, v)
			}
		}
	}
	return x
}

// reader is a tensor that counts what is read of it.
func reader(x trace.Tensor, reads *int, most *int) attribution.TensorReader {
	return attribution.TensorReader{
		Name: x.Name, Shape: x.Shape,
		Read: func(dst []float32, first int) error {
			*reads++
			*most = max(*most, len(dst))
			copy(dst, x.Data[first:])
			return nil
		},
	}
}

// A tensor that stays in a file is read a head at a time, and gives what the same numbers in memory
// give.
func TestAttributeReadsHeads(t *testing.T) {
	const L, H, T = 3, 2, 5
	x := uniformHeads(L, H, T)
	opts := attribution.Options{Methods: []string{"rollout", "flow"}}
	want, err := attribution.Attribute(context.Background(), attribution.InMemory([]trace.Tensor{x}), opts)
	must(t, err)
	reads, most := 0, 0
	in := attribution.Input{Tensors: []attribution.TensorReader{reader(x, &reads, &most)}}
	got, err := attribution.Attribute(context.Background(), in, opts)
	must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("from a reader (-from memory +read):\n%s", diff)
	}
	if reads != 2*L*H || most != T*T {
		t.Errorf("%d reads of up to %d numbers, want %d of %d: every head twice", reads, most,
			2*L*H, T*T)
	}
}

// An input that does not fit into memory is refused before it is read. The memory that the error
// asks for is enough.
func TestAttributeBudget(t *testing.T) {
	reads, most := 0, 0
	x := uniformHeads(3, 2, 5)
	opts := attribution.Options{Methods: []string{"rollout"}}
	in := attribution.Input{
		Tensors: []attribution.TensorReader{reader(x, &reads, &most)},
		Memory:  trace.Memory{Left: 1000, Limit: 3000, Chosen: true},
	}
	_, err := attribution.Attribute(context.Background(), in, opts)
	var refused *trace.MemoryError
	if !errors.As(err, &refused) || errors.Is(err, trace.ErrUsage) {
		t.Fatalf("error %v, want a MemoryError, which is no wrong usage", err)
	}
	if reads != 0 {
		t.Errorf("%d reads before the refusal", reads)
	}
	if refused.Left != 1000 || refused.Limit != 3000 || !refused.Chosen || refused.Need <= 1000 {
		t.Errorf("refused is %+v", *refused)
	}
	for _, part := range []string{
		"rollout of 5 tokens in 3 layers", "the limit is 3.0 kB (given)",
		"take fewer layers",
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %v lacks %q", err, part)
		}
	}
	in.Memory.Left = refused.Need // what it says is enough is enough
	if _, err := attribution.Attribute(context.Background(), in, opts); err != nil {
		t.Errorf("with what it needs: %v", err)
	}

	// An encoder's text needs more, which is known once its numbers are.
	x.Data[4] = x.Data[0] / 2 // row 0 of head 0 looks at the last token
	x.Data[0] /= 2
	in.Tensors = []attribution.TensorReader{reader(x, &reads, &most)}
	_, err = attribution.Attribute(context.Background(), in, opts)
	if !errors.As(err, &refused) {
		t.Errorf("an encoder's text in the memory for a decoder's: error %v, want a MemoryError",
			err)
	}

	// A shape may claim anything.
	for name, shape := range map[string][]int{
		"many tokens": {1, 1, 1 << 30, 1 << 30},
		"many layers": {1 << 40, 1, 4, 4},
	} {
		in.Tensors = []attribution.TensorReader{{
			Name: "attention", Shape: shape,
			Read: func([]float32, int) error {
				t.Errorf("%s: read before the refusal", name)
				return nil
			},
		}}
		_, err = attribution.Attribute(context.Background(), in, opts)
		if !errors.As(err, &refused) {
			t.Errorf("%s: error %v, want a MemoryError", name, err)
		}
	}
}

// Reading stops when the context is done, and an error of reading names the head.
func TestAttributeStops(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	x := uniformHeads(50, 1, 2)
	reads := 0
	tensor := attribution.TensorReader{
		Name: x.Name, Shape: x.Shape,
		Read: func(dst []float32, first int) error {
			if reads++; reads == 3 {
				stop()
			}
			copy(dst, x.Data[first:])
			return nil
		},
	}
	opts := attribution.Options{Methods: []string{"raw"}}
	_, err := attribution.Attribute(ctx,
		attribution.Input{Tensors: []attribution.TensorReader{tensor}}, opts)
	if !errors.Is(err, context.Canceled) || reads > 4 {
		t.Errorf("error %v after %d reads, want that of the context after 3", err, reads)
	}
	broken := errors.New("the disk fails")
	tensor.Read = func([]float32, int) error { return broken }
	_, err = attribution.Attribute(context.Background(),
		attribution.Input{Tensors: []attribution.TensorReader{tensor}}, opts)
	if !errors.Is(err, broken) ||
		!strings.Contains(err.Error(), `tensor "attention": layer 0 head 0`) {
		t.Errorf("error %v, want one that wraps that of reading and names the head", err)
	}
}

// A few numbers above the diagonal turn a decoder's text into an encoder's; a warning says where
// they are.
func TestAttributeFewLaterSources(t *testing.T) {
	x := uniformHeads(2, 1, 6)
	x.Data[36+6], x.Data[36+6+4] = 0.25, 0.25 // layer 1 row 1: 0.25 0.5 0 0 0.25 0
	a, err := attribution.Attribute(context.Background(), attribution.InMemory([]trace.Tensor{x}),
		attribution.Options{Methods: []string{"raw"}})
	must(t, err)
	want := []string{"attention: 1 of 10 rows take something from a later token, so the text is " +
		"taken for an encoder's; " +
		"the first is layer 1 head 0 row 1 column 4 is 0.25."}
	if diff := cmp.Diff(want, a.Warnings); diff != "" || !a.Bidirectional {
		t.Errorf("bidirectional %v; warnings (-want +got):\n%s", a.Bidirectional, diff)
	}
	for i := range x.Data {
		x.Data[i] = 1. / 6
	}
	a, err = attribution.Attribute(context.Background(), attribution.InMemory([]trace.Tensor{x}),
		attribution.Options{Methods: []string{"raw"}})
	if err != nil || len(a.Warnings) != 0 {
		t.Errorf("an encoder's text: %v, warnings %q", err, a.Warnings)
	}
}
