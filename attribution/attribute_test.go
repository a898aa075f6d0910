package attribution_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
)

func attribute(
	t testing.TB, opts attribution.Options, tensors ...trace.Tensor,
) *attribution.Attribution {
	t.Helper()
	a, err := attribution.Attribute(context.Background(), attribution.InMemory(tensors), opts)
	must(t, err)
	return a
}

// attentionOf returns a tensor [1,H,T,T] of the given heads.
func attentionOf(T int, heads ...func(i, j int) float64) trace.Tensor {
	x := trace.Tensor{Name: "attention", Shape: []int{1, len(heads), T, T}}
	for _, head := range heads {
		for i := range T {
			for j := range T {
				x.Data = append(x.Data, float32(head(i, j)))
			}
		}
	}
	return x
}

// 13: heads {I, sink}: mean gives ¼ and ¾, maximum ⅓ and ⅔, minimum the identity.
func TestKnown13Fusion(t *testing.T) {
	x := attentionOf(3, fakemodel.Identity, fakemodel.ToFirst)
	for _, c := range []struct {
		heads      trace.Heads
		sink, self float64
	}{
		{trace.Heads{Fusion: trace.MeanHeads}, 1. / 4, 3. / 4},
		{trace.Heads{Fusion: trace.MaxHeads}, 1. / 3, 2. / 3},
		{trace.Heads{Fusion: trace.MinHeads}, 0, 1},
		{trace.Heads{Fusion: trace.OneHead, Head: 0}, 0, 1},
		{trace.Heads{Fusion: trace.OneHead, Head: 1}, 1. / 2, 1. / 2},
	} {
		a := attribute(t, attribution.Options{Methods: []string{"rollout"}, Heads: c.heads}, x)
		m := a.Methods["rollout"]
		near(t, c.heads.String(), m.Row(0, 0), []float64{1, 0, 0}, 1e-15)
		near(t, c.heads.String(), m.Row(0, 1), []float64{c.sink, c.self, 0}, 1e-15)
		near(t, c.heads.String(), m.Row(0, 2), []float64{c.sink, 0, c.self}, 1e-15)
	}
}

// 14: the lift of uniform causal attention is 1, and lift is rollout over the closed form
// of the uniform one.
func TestKnown14Lift(t *testing.T) {
	const L, T = 5, 12
	data := fakemodel.SharpAttention(1, L, T, false)
	x := trace.Tensor{Name: "attention", Shape: []int{L, T, T}, Data: fakemodel.Float32(data)}
	opts := attribution.Options{Methods: []string{"rollout", "raw"}}
	plain := attribute(t, opts, x)
	opts.Lift = true
	lifted := attribute(t, opts, x)
	for l := range L {
		for i := range T {
			want := make([]float64, T)
			raw := make([]float64, T)
			for j := range i + 1 {
				u, _ := fakemodel.UniformCausal(l+1, i, j, true).Float64()
				want[j] = plain.Methods["rollout"].Row(l, i)[j] / u
				raw[j] = plain.Methods["raw"].Row(l, i)[j] * float64(i+1)
			}
			near(t, fmt.Sprintf("rollout lift of layer %d row %d", l, i),
				lifted.Methods["rollout"].Row(l, i), want, 1e-10)
			near(t, fmt.Sprintf("raw lift of layer %d row %d", l, i),
				lifted.Methods["raw"].Row(l, i), raw, 1e-10)
		}
	}
	if unit := lifted.Methods["rollout"].Unit; !strings.HasPrefix(unit, "lift") {
		t.Errorf("unit %q, want lift", unit)
	}
	var uniform []float64
	for range L {
		for i := range T {
			for j := range T {
				uniform = append(uniform, fakemodel.Causal(i, j))
			}
		}
	}
	x.Data = fakemodel.Float32(uniform)
	opts.Methods = []string{"rollout", "raw", "flow", "flow-normalized"}
	for name, m := range attribute(t, opts, x).Methods {
		for l := range L {
			for i := range T {
				want := make([]float64, T)
				for j := range i + 1 {
					want[j] = 1
				}
				near(t, name+" of uniform attention", m.Row(l, i), want, 1e-6)
			}
		}
	}
}

// 18: a constant on a row of scores, as b_k gives, or ALiBi counted from the target instead of from
// the start, changes nothing; 15: ALiBi alone is a geometric series.
func TestKnown18RowConstants(t *testing.T) {
	const T, slope = 9, 0.37
	softmax := func(score func(i, j int) float64) trace.Tensor {
		return attentionOf(T, func(i, j int) float64 {
			sum := 0.0
			for k := range i + 1 {
				sum += math.Exp(score(i, k))
			}
			return fakemodel.On(j <= i) * math.Exp(score(i, j)) / sum
		})
	}
	opts := attribution.Options{Methods: []string{"raw", "rollout", "flow"}}
	fromStart := attribute(t, opts, softmax(func(_, j int) float64 { return slope * float64(j) }))
	for name, other := range map[string]func(i, j int) float64{
		"from the target": func(i, j int) float64 { return -slope * float64(i-j) },
		"key bias": func(i, j int) float64 {
			return slope*float64(j) + math.Sin(float64(i))
		},
	} {
		for method, m := range attribute(t, opts, softmax(other)).Methods {
			near(t, name+" "+method, m.Data, fromStart.Methods[method].Data, fakemodel.Tolerance)
		}
	}
	for i := range T {
		want := make([]float64, T)
		for j := range i + 1 {
			want[j] = math.Exp(-slope*float64(i-j)) * (1 - math.Exp(-slope)) / (1 - math.Exp(
				-slope*float64(i+1)))
		}
		near(t, "ALiBi alone", fromStart.Methods["raw"].Row(0, i), want, fakemodel.Tolerance)
	}
}

// 20 and 22: Value Zeroing of A = I is the identity; a value that is zero leaves a column of zeros;
// the first row is [1]; rollout adds no second identity, so that C = ½(I+sink) gives
// 1-2^{-L}; and the length of rows does not matter.
func TestKnown20And22ValueZeroing(t *testing.T) {
	const L, T = 4, 4
	vz := func(c func(i, j int) float64) trace.Tensor {
		x := trace.Tensor{Name: "value-zeroing", Shape: []int{L, T, T}}
		for l := range L {
			for i := range T {
				for j := range T {
					x.Data = append(x.Data, float32(c(i, j)*math.Pow(2, float64(-i-3*l)))) // exact
				}
			}
		}
		return x
	}
	opts := attribution.Options{Methods: []string{"value-zeroing", "value-zeroing-rollout"}}
	for _, m := range attribute(t, opts, vz(fakemodel.Identity)).Methods {
		for l := range L {
			for i := range T {
				near(t, "identity", m.Row(l, i), []float64{
					fakemodel.Identity(i, 0), fakemodel.Identity(i, 1),
					fakemodel.Identity(i, 2), fakemodel.Identity(i, 3),
				}, 0)
			}
		}
	}
	sink := attribute(t, opts, vz(func(i, j int) float64 {
		return fakemodel.ToFirst(i, j)/2 + fakemodel.Identity(i, j)/2
	}))
	half := 1.0
	for l := range L {
		half /= 2
		near(t, "sink", sink.Methods["value-zeroing-rollout"].Row(l, 2),
			[]float64{1 - half, 0, half, 0}, 1e-15)
		near(t, "first row", sink.Methods["value-zeroing-rollout"].Row(l, 0), []float64{1, 0, 0, 0},
			0)
	}
	noValue := attribute(t, opts,
		vz(func(i, j int) float64 { return fakemodel.On(j <= i && j != 1) }))
	for _, m := range noValue.Methods {
		for l := range L {
			for i := range T {
				if x := m.Row(l, i)[1]; x != 0 {
					t.Errorf("level %d row %d takes %v from a value of zero", l, i, x)
				}
			}
		}
	}
	nothing := attribute(t, opts,
		vz(func(i, j int) float64 { return fakemodel.On(j == 1 && i > 0) }))
	if len(nothing.Warnings) != 1 || !strings.Contains(nothing.Warnings[0], "4 rows are all zero") {
		t.Errorf("warnings %q, want one about the first row of each layer", nothing.Warnings)
	}
}

// An encoder's text: permuting the tokens permutes the result, and all mass is visible.
func TestAttributeBidirectional(t *testing.T) {
	const L, T = 3, 6
	perm := []int{3, 0, 5, 1, 4, 2}
	data := fakemodel.SharpAttention(2, L, T, true)
	permuted := make([]float64, len(data))
	for l := range L {
		for i := range T {
			for j := range T {
				permuted[(l*T+perm[i])*T+perm[j]] = fakemodel.Entry(data, T, l, i, j)
			}
		}
	}
	for _, lift := range []bool{false, true} {
		opts := attribution.Options{
			Methods: []string{"raw", "rollout", "flow", "flow-normalized"},
			Lift:    lift,
		}
		shape := []int{L, T, T}
		a := attribute(t, opts, trace.Tensor{
			Name: "attention", Shape: shape,
			Data: fakemodel.Float32(data),
		})
		b := attribute(t, opts, trace.Tensor{
			Name: "attention", Shape: shape,
			Data: fakemodel.Float32(permuted),
		})
		if !a.Bidirectional {
			t.Error("mass above the diagonal was not seen")
		}
		for name, m := range a.Methods {
			for l := range L {
				for i := range T {
					want := make([]float64, T)
					for j, x := range m.Row(l, i) {
						want[perm[j]] = x
					}
					near(t, name+" permuted", b.Methods[name].Row(l, perm[i]), want, 1e-9)
				}
			}
		}
	}
}

// Half precision: rows whose sums are a little off are divided by them, with a warning. The input
// does not change.
func TestAttributeRenormalizes(t *testing.T) {
	x := attentionOf(2,
		func(i, j int) float64 { return fakemodel.Causal(i, j) * (1 + 8e-4*float64(i)) })
	before := slices.Clone(x.Data)
	a := attribute(t, attribution.Options{Methods: []string{"raw"}}, x)
	near(t, "raw", a.Methods["raw"].Data, []float64{1, 0, .5, .5}, 1e-9)
	if len(a.Warnings) != 1 || !strings.Contains(a.Warnings[0],
		"layer 0 head 0 row 1 sums to 1.000800") {
		t.Errorf("warnings %q, want one that names the row", a.Warnings)
	}
	if !slices.Equal(before, x.Data) {
		t.Error("the input was changed")
	}
	// Each head on its own, so that the mean of two heads does not lean to the longer row.
	long := func(i, j int) float64 { return fakemodel.ToFirst(i, j) * (1 + 8e-4) }
	a = attribute(t, attribution.Options{Methods: []string{"raw"}},
		attentionOf(2, fakemodel.Identity, long))
	near(t, "mean of two heads", a.Methods["raw"].Data, []float64{1, 0, .5, .5}, 1e-9)
}

// TestAttributeSinks has a head with a sink, whose rows sum to ¼ and ½, and the identity. Row 1 of
// their mean is ⅛, ⅝; rollout adds the residual before it is divided by its sum, as for any rows:
// ½(⅛, ⅝) + ½(0, 1) is 1⁄16, 13⁄16.
func TestAttributeSinks(t *testing.T) {
	x := attentionOf(2, func(i, j int) float64 { return fakemodel.On(j <= i) / 4 },
		fakemodel.Identity)
	opts := attribution.Options{Methods: []string{"raw", "rollout"}}
	for _, told := range []bool{false, true} {
		in := attribution.InMemory([]trace.Tensor{x})
		in.Sinks = told
		a, err := attribution.Attribute(t.Context(), in, opts)
		must(t, err)
		near(t, "raw", a.Methods["raw"].Data, []float64{1, 0, 1. / 6, 5. / 6}, 1e-12)
		near(t, "rollout", a.Methods["rollout"].Data, []float64{1, 0, 1. / 14, 13. / 14}, 1e-12)
		if !a.Sinks || told == strings.Contains(strings.Join(a.Warnings, " "),
			"attention: layer 0 head 0 row 0 sums to 0.250000, the least of all rows") {
			t.Errorf("told %v: sinks %v, warnings %q", told, a.Sinks, a.Warnings)
		}
		first, err := (attribution.Input{Sinks: true}).First(t.Context(), in.Tensors[0], 1)
		if err != nil || first.Data[0] != .25 {
			t.Errorf("the first token has %v, %v; want its row as it is", first.Data, err)
		}
	}
}

// bfloat16 rounds x to the 8 significant bits of a bfloat16, ties to even, as PyTorch does.
func bfloat16(x float64) float64 {
	bits := math.Float32bits(float32(x))
	bits += 0x7fff + bits>>16&1
	return float64(math.Float32frombits(bits &^ 0xffff))
}

// Attention that a program rounded to bfloat16 after the softmax is accepted: row t looks at t+1
// sources equally. Sums are off by up to 0.0039.
func TestAttributeBfloat16(t *testing.T) {
	const T = 260
	x := attentionOf(T, func(i, j int) float64 {
		if j > i {
			return 0
		}
		return bfloat16(1 / float64(i+1))
	})
	a := attribute(t, attribution.Options{Methods: []string{"raw"}}, x)
	for i := range T {
		sum := 0.0
		for _, share := range a.Methods["raw"].Row(0, i) {
			sum += share
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Fatalf("row %d sums to %v, want 1", i, sum)
		}
	}
	if len(a.Warnings) == 0 || !strings.Contains(a.Warnings[0], "off from 1 by up to 0.0039") {
		t.Errorf("warnings %q", a.Warnings)
	}
}

func TestAttributeLayersAndProgress(t *testing.T) {
	const L, T = 4, 5
	one, two := 1, 2
	data := fakemodel.SharpAttention(4, L, T, false)
	var progress []string
	opts := attribution.Options{
		Methods: []string{"rollout", "flow"}, FirstLayer: one,
		LastLayer: &two,
	}
	opts.OnProgress = func(p trace.Progress) { progress = append(progress, p.String()) }
	part := attribute(t, opts, trace.Tensor{
		Name: "attention", Shape: []int{L, T, T},
		Data: fakemodel.Float32(data),
	})
	alone := attribute(t, attribution.Options{Methods: opts.Methods}, trace.Tensor{
		Name:  "attention",
		Shape: []int{2, T, T},
		Data:  fakemodel.Float32(data[T*T : 3*T*T]),
	})
	for name, m := range part.Methods {
		near(t, name, m.Data, alone.Methods[name].Data, 0)
		if !slices.Equal(m.Layers, []int{1, 2}) || m.Shape != [3]int{2, T, T} {
			t.Errorf("%s: layers %v shape %v, want layers 1 and 2", name, m.Layers, m.Shape)
		}
	}
	if len(progress) != T || progress[T-1] != "computing rows, row 5 of 5" {
		t.Errorf("progress %q", progress)
	}
}

func TestAttributeRefusals(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	ok := func() trace.Tensor { return attentionOf(2, fakemodel.Causal) }
	with := func(i int, v float32) trace.Tensor { x := ok(); x.Data[i] = v; return x }
	shaped := func(shape ...int) trace.Tensor { x := ok(); x.Shape = shape; return x }
	head := 3
	for _, c := range []struct {
		name    string
		tensors []trace.Tensor
		opts    attribution.Options
		want    string
		usage   bool
	}{
		{"missing tensor", nil, attribution.Options{}, `needs tensor "attention", [L,T,S]; the input has none`, false},
		{
			"wrong tensor",
			[]trace.Tensor{{Name: "logits"}, {Name: "hidden"}},
			attribution.Options{},
			`the input has "hidden", "logits"`, false,
		},
		{"NaN", []trace.Tensor{with(2, nan)}, attribution.Options{}, "layer 0 head 0 row 1 column 0 is NaN", false},
		{"infinity", []trace.Tensor{with(3, inf)}, attribution.Options{}, "row 1 column 1 is +Inf", false},
		{"negative", []trace.Tensor{with(2, -.5)}, attribution.Options{}, "row 1 column 0 is -0.5", false},
		{"sum", []trace.Tensor{with(2, .506)}, attribution.Options{}, "layer 0 head 0 row 1 sums to 1.006; want 1 within 0.005", false},
		{"rank", []trace.Tensor{shaped(2, 2)}, attribution.Options{}, "shape [2 2]; want [L,H,T,S] or [L,T,S]", false},
		{"not square", []trace.Tensor{shaped(1, 1, 4)}, attribution.Options{}, "1 targets and 4 sources", false},
		{"too few", []trace.Tensor{shaped(2, 2, 2)}, attribution.Options{}, "does not fit 4 numbers", false},
		{"zero", []trace.Tensor{shaped(0, 2, 2)}, attribution.Options{}, "does not fit", false},
		{"overflow", []trace.Tensor{shaped(1<<32, 1<<32, 4)}, attribution.Options{}, "does not fit", false},
		{
			"heads of Value Zeroing",
			[]trace.Tensor{{
				Name: "value-zeroing", Shape: []int{1, 2, 1, 1},
				Data: []float32{1, 1},
			}},
			attribution.Options{Methods: []string{"value-zeroing"}},
			"no heads apart", false,
		},
		{
			"other size",
			[]trace.Tensor{ok(), {
				Name: "value-zeroing", Shape: []int{1, 1, 1},
				Data: []float32{1},
			}},
			attribution.Options{Methods: []string{"raw", "value-zeroing"}},
			"another tensor has 1 layers and 2 tokens", false,
		},
		{"unknown method", []trace.Tensor{ok()}, attribution.Options{Methods: []string{"x"}}, "unknown method", true},
		{"head", []trace.Tensor{ok()}, attribution.Options{PerHead: &head}, "per-head 3; there are 1", true},
		{"layer", []trace.Tensor{ok()}, attribution.Options{LastLayer: &head}, "layers 0 to 3; there are 1", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.opts.Methods == nil {
				c.opts.Methods = []string{"rollout"}
			}
			a, err := attribution.Attribute(context.Background(),
				attribution.InMemory(c.tensors), c.opts)
			if a != nil || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want one about %q", err, c.want)
			}
			if errors.Is(err, trace.ErrUsage) != c.usage {
				t.Errorf("usage error: %v, want %v", !c.usage, c.usage)
			}
		})
	}
}

func TestAttributeCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	opts := attribution.Options{Methods: []string{"flow"}, OnProgress: func(p trace.Progress) {
		if p.Done == 2 {
			cancel()
		}
	}}
	_, err := attribution.Attribute(ctx, attribution.InMemory([]trace.Tensor{attentionOf(4, fakemodel.Causal)}), opts)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "after 2 of 4 rows") {
		t.Errorf("error %v, want one that wraps %v after 2 rows", err, context.Canceled)
	}
}

// Two runs give equal bits, and rows that sum to 1 keep their sums.
func TestAttributeProperties(t *testing.T) {
	const L, T = 4, 16
	for seed := range uint64(4) {
		x := trace.Tensor{
			Name: "attention", Shape: []int{L, T, T},
			Data: fakemodel.Float32(fakemodel.SharpAttention(seed, L, T, seed%2 == 1)),
		}
		opts := attribution.Options{Methods: []string{"raw", "rollout", "flow", "flow-normalized"}}
		a, b := attribute(t, opts, x), attribute(t, opts, x)
		if diff := cmp.Diff(a, b); diff != "" {
			t.Errorf("seed %d: two runs differ:\n%s", seed, diff)
		}
		for _, name := range []string{"raw", "rollout", "flow-normalized"} {
			for i := range L * T {
				sum := 0.0
				for _, v := range a.Methods[name].Row(i/T, i%T) {
					sum += v
				}
				near(t, fmt.Sprintf("seed %d: sum of %s", seed, name), []float64{sum}, []float64{1},
					1e-13)
			}
		}
	}
}

// One token and one layer: by every method the whole share is the token's own.
func TestAttributeOneToken(t *testing.T) {
	one := func(name string) trace.Tensor {
		return trace.Tensor{Name: name, Shape: []int{1, 1, 1}, Data: []float32{1}}
	}
	for _, lift := range []bool{false, true} {
		a := attribute(t, attribution.Options{Methods: everyMethod, Lift: lift}, one("attention"),
			one("value-zeroing"))
		for _, name := range everyMethod {
			if m := a.Methods[name]; m.Shape != [3]int{1, 1, 1} || m.Data[0] != 1 {
				t.Errorf("%s, lift %v: %v %v, want 1", name, lift, m.Shape, m.Data)
			}
		}
	}
}

// TestMapOf asks for the tensor of a method and computes what Attribute does of it, by one method.
func TestMapOf(t *testing.T) {
	m := tracerOf(func(ids []int, taps []trace.Tap) ([]trace.Tensor, error) {
		if !slices.Equal(ids, []int{4, 5}) || !slices.Equal(taps, []trace.Tap{trace.Attention}) {
			t.Errorf("asked for %v of %v", taps, ids)
		}
		return []trace.Tensor{{
			Name: "attention", Shape: []int{1, 1, 2, 2}, Data: []float32{1, 0, .25, .75},
		}}, nil
	})
	opts := attribution.Options{Methods: []string{"direct"}}
	got, err := attribution.MapOf(t.Context(), m, []int{4, 5}, "raw", opts)
	if err != nil || got.Shape != [3]int{1, 2, 2} ||
		!slices.Equal(got.Data, []float64{1, 0, .25, .75}) || opts.Methods[0] != "direct" {
		t.Errorf("map %+v, error %v", got, err)
	}
	if _, err := attribution.MapOf(t.Context(), m, nil, "direct", opts); !errors.Is(err,
		trace.ErrUsage) {
		t.Errorf("direct: error %v, want a usage error", err)
	}
}

// tracerOf is a model that records what a function returns.
type tracerOf func(ids []int, taps []trace.Tap) ([]trace.Tensor, error)

func (f tracerOf) Trace(_ context.Context, ids []int, taps []trace.Tap) ([]trace.Tensor, error) {
	return f(ids, taps)
}

// TestFirst returns the rows of the first tokens, divided by their sums; rows of zeros stay.
func TestFirst(t *testing.T) {
	in := attribution.InMemory([]trace.Tensor{{
		Name: "attention", Shape: []int{2, 3, 3},
		Data: []float32{.5, .25, .25, 0, 0, 1, 9, 9, 9, 1, 0, 0, .25, .25, .5, 9, 9, 9},
	}})
	got, err := in.First(t.Context(), in.Tensors[0], 2)
	want := []float32{2. / 3, 1. / 3, 0, 0, 1, 0, .5, .5}
	if err != nil || !slices.Equal(got.Shape, []int{2, 2, 2}) || !slices.Equal(got.Data, want) {
		t.Errorf("%v %v, %v; want %v", got.Shape, got.Data, err, want)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := in.First(ctx, in.Tensors[0], 2); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of its context: %v", err)
	}
}

// TestMapTap names the tensor of a method, and refuses methods that have none.
func TestMapTap(t *testing.T) {
	for method, want := range map[string]string{
		"raw": "attention", "rollout": "attention", "flow": "attention",
		"value-zeroing": "value-zeroing", "value-zeroing-rollout": "value-zeroing",
		"norms": "no maps of method \"norms\"", "direct": "no maps of method \"direct\"",
		"rolout": "did you mean rollout?",
	} {
		tap, err := attribution.MapTap(method)
		refused := errors.Is(err, trace.ErrUsage) && strings.Contains(err.Error(), want)
		if err != nil && !refused || err == nil && string(tap) != want {
			t.Errorf("%s: %q, %v, want %q", method, tap, err, want)
		}
	}
}
