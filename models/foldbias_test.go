package models

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
)

// β = (1,2), W = [[3,4],[5,6]] and b = (10,20) give b + βW = (10+3+10, 20+4+12) = (23,36).
func TestFolded(t *testing.T) {
	weights := map[string][]float32{
		"blocks.3.attention-norm.bias": {1, 2}, "blocks.3.attention-norm.gain": {7, 7},
		"blocks.3.mlp-norm.bias": {8, 8}, "blocks.3.output.bias": {9, 9},
	}
	for _, name := range []string{"query", "key", "value"} {
		weights["blocks.3."+name+".weight"] = []float32{3, 4, 5, 6}
		weights["blocks.3."+name+".bias"] = []float32{10, 20}
	}
	load := func(p spec.Param, put func(int, []float32)) error {
		values := weights[p.Name]
		put(0, slices.Clone(values[:1])) // in pieces
		put(1, slices.Clone(values[1:]))
		return nil
	}
	fold := folded(load, &spec.Spec{Width: 2})
	for _, c := range []struct {
		name       string
		want, drop []float32
	}{
		{"blocks.3.attention-norm.bias", []float32{0, 0}, []float32{0, 0}},
		{"blocks.3.attention-norm.gain", []float32{7, 7}, []float32{7, 7}},
		{"blocks.3.query.bias", []float32{23, 36}, []float32{23, 36}},
		{"blocks.3.key.bias", []float32{23, 36}, []float32{0, 0}},
		{"blocks.3.value.bias", []float32{23, 36}, []float32{23, 36}},
		{"blocks.3.mlp-norm.bias", []float32{8, 8}, []float32{8, 8}},
		{"blocks.3.output.bias", []float32{9, 9}, []float32{9, 9}},
	} {
		p := spec.Param{Name: c.name, Shape: []int{2}}
		for _, x := range []struct {
			load spec.Loader
			want []float32
		}{{fold, c.want}, {withoutKeyBias(fold), c.drop}} {
			got, err := whole(x.load, p)
			if err != nil || !slices.Equal(got, x.want) {
				t.Errorf("%s: %v, %v; want %v", c.name, got, err, x.want)
			}
		}
	}
}

// apart returns the largest difference of two tensors.
func apart(a, b trace.Tensor) float64 {
	most := 0.0
	for i := range a.Data {
		most = max(most, math.Abs(float64(a.Data[i])-float64(b.Data[i])))
	}
	return most
}

// A model whose norms' bias is folded, or whose biases of keys are dropped, computes the same, and
// has other terms: with the fold their sum stays, and without the biases of keys it changes by a
// number for each row.
func TestFoldedModels(t *testing.T) {
	ids := []int{5, 9, 6, 7, 11}
	taps := []trace.Tap{
		trace.Terms, trace.Attention, trace.Logits, trace.ValueZeroing, trace.HeadOutput,
	}
	const tolerance = 2e-5 // float32 rounding of logits
	for _, name := range []string{"bloom", "gpt2", "opt", "falcon_rw"} {
		run := func(o Options) []trace.Tensor {
			o.Backend = "go"
			m, err := Open("testdata/goldens/"+name, o)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			ts, err := m.Trace(t.Context(), ids, taps)
			must(t, err)
			return ts
		}
		plain := run(Options{})
		for _, c := range []struct {
			what string
			o    Options
		}{
			{"fold", Options{FoldNormBias: true}},
			{"drop", Options{DropKeyBias: true}},
			{"both", Options{FoldNormBias: true, DropKeyBias: true}},
		} {
			got := run(c.o)
			same := taps[1:]
			for k := range same {
				// The output of single heads is that of the same value, bias included.
				if d := apart(plain[k+1], got[k+1]); d > tolerance {
					t.Errorf("%s, %s: %s differs by %g", name, c.what, same[k], d)
				}
			}
			if d := apart(plain[0], got[0]); d < 1e-4 {
				t.Errorf("%s, %s: the terms differ by %g alone", name, c.what, d)
			}
			rowConstant(t, name+", "+c.what, plain[0], got[0], c.o.DropKeyBias)
		}
	}
}

// rowConstant checks that the sums of the terms differ by a number for each row, or not at all.
func rowConstant(t *testing.T, where string, a, b trace.Tensor, mayDiffer bool) {
	t.Helper()
	n := a.Shape[4]
	for lh := range a.Shape[0] * a.Shape[1] {
		for i := range n {
			first := 0.0
			for j := range i + 1 {
				d := 0.0
				for k := range 3 {
					at := ((lh*3+k)*n+i)*n + j
					d += float64(a.Data[at]) - float64(b.Data[at])
				}
				if j == 0 && mayDiffer {
					first = d
				}
				if math.Abs(d-first) > 2e-5 {
					t.Fatalf("%s: head %d target %d: the sum for source %d differs by %g, that "+
						"for source 0 by %g", where, lh, i, j, d, first)
				}
			}
		}
	}
}

// A model where the bias cannot be moved without changing it says why.
func TestFoldRefusals(t *testing.T) {
	for _, c := range []struct {
		name, want string
		o          Options
	}{
		{"llama", "its norms have no bias", Options{FoldNormBias: true}},
		{"bert", "what attention reads is also what is added", Options{FoldNormBias: true}},
		{"falcon7", "the feed-forward part reads the same norm", Options{FoldNormBias: true}},
		{"llama", "it has none", Options{DropKeyBias: true}},
		{"qwen2", "under rotary positions", Options{DropKeyBias: true}},
	} {
		c.o.Backend = "go"
		_, err := Open("testdata/goldens/"+c.name, c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}
