package focus_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/focus"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/testhelp"
	"github.com/headwater-ml/headwater/models"
	"github.com/headwater-ml/headwater/models/spec"
)

// Tolerances of the parity tests; the worst seen are beside them.
const (
	scoreTol     = 1e-4 // float32 scores against the sum of their terms; 1e-6
	attentionTol = 1e-5 // recorded by another program in float32; 6e-7
	blockTol     = 1e-4 // a block in float64 against float32; 3e-6
)

// golden is a small random checkpoint, and what Hugging Face's code computed on it.
type golden struct {
	name string
	// The names of the weights of layer 0, where # is the layer: of the output projection, both
	// norms, and the feed-forward part; gate is "" without one. inFirst reports whether weights are
	// [in,out] and not [out,in].
	output, norm, norm2, up, gate, down string
	inFirst, postNorm, rms              bool
	epsilon                             float64
	activation                          func(float64) float64
	// biased reports whether the query has a bias.
	biased bool
}

func geluTanh(x float64) float64 {
	return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+.044715*x*x*x)))
}

func gelu(x float64) float64 { return x / 2 * (1 + math.Erf(x/math.Sqrt2)) }

func silu(x float64) float64 { return x / (1 + math.Exp(-x)) }

var goldens = []golden{
	{
		name: "bloom", output: "transformer.h.#.self_attention.dense",
		norm2: "transformer.h.#.post_attention_layernorm", up: "transformer.h.#.mlp.dense_h_to_4h",
		down: "transformer.h.#.mlp.dense_4h_to_h", epsilon: 1e-5, activation: geluTanh,
		biased: true,
	},
	{
		name: "falcon_rw", output: "transformer.h.#.self_attention.dense",
		norm2: "transformer.h.#.post_attention_layernorm", up: "transformer.h.#.mlp.dense_h_to_4h",
		down: "transformer.h.#.mlp.dense_4h_to_h", epsilon: 1e-5, activation: gelu, biased: true,
	},
	{
		name: "gpt2", output: "transformer.h.#.attn.c_proj", norm2: "transformer.h.#.ln_2",
		up: "transformer.h.#.mlp.c_fc", down: "transformer.h.#.mlp.c_proj", inFirst: true,
		epsilon: 1e-5, activation: geluTanh, biased: true,
	},
	{
		name: "llama_bias", output: "model.layers.#.self_attn.o_proj",
		norm2: "model.layers.#.post_attention_layernorm", gate: "model.layers.#.mlp.gate_proj",
		up: "model.layers.#.mlp.up_proj", down: "model.layers.#.mlp.down_proj", rms: true,
		epsilon: 1e-6, activation: silu, biased: true,
	},
	{
		name: "llama", output: "model.layers.#.self_attn.o_proj",
		norm2: "model.layers.#.post_attention_layernorm", gate: "model.layers.#.mlp.gate_proj",
		up: "model.layers.#.mlp.up_proj", down: "model.layers.#.mlp.down_proj", rms: true,
		epsilon: 1e-6, activation: silu,
	},
	{
		name: "bert", output: "bert.encoder.layer.#.attention.output.dense",
		norm:  "bert.encoder.layer.#.attention.output.LayerNorm",
		norm2: "bert.encoder.layer.#.output.LayerNorm",
		up:    "bert.encoder.layer.#.intermediate.dense",
		down:  "bert.encoder.layer.#.output.dense", postNorm: true, epsilon: 1e-12,
		activation: gelu, biased: true,
	},
}

// weights reads arrays of a checkpoint as float64, with # replaced by a layer.
type weights struct {
	t    *testing.T
	file *checkpoint.File
}

func (w weights) at(name string, l int) []float64 {
	w.t.Helper()
	name = strings.ReplaceAll(name, "#", fmt.Sprint(l))
	if !w.file.Has(name) {
		return nil
	}
	x, err := w.file.Float64(name)
	if err != nil {
		w.t.Fatal(err)
	}
	return x
}

// linear is W x + b of a dense layer.
func (g golden) linear(w weights, name string, l int, x []float64) []float64 {
	m, bias := w.at(name+".weight", l), w.at(name+".bias", l)
	y := make([]float64, len(m)/len(x))
	copy(y, bias)
	for i := range x {
		for o := range y {
			if g.inFirst {
				y[o] += m[i*len(y)+o] * x[i]
			} else {
				y[o] += m[o*len(x)+i] * x[i]
			}
		}
	}
	return y
}

func (g golden) normed(w weights, name string, l int, x []float64) []float64 {
	gain, bias := w.at(name+".weight", l), w.at(name+".bias", l)
	mean, square := 0.0, 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	if g.rms {
		mean = 0
	}
	for _, v := range x {
		square += (v - mean) * (v - mean) / float64(len(x))
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = (v - mean) / math.Sqrt(square+g.epsilon) * gain[i]
		if bias != nil {
			y[i] += bias[i]
		}
	}
	return y
}

func (g golden) feedForward(w weights, l int, x []float64) []float64 {
	up := g.linear(w, g.up, l, x)
	gate := up
	if g.gate != "" {
		gate = g.linear(w, g.gate, l, x)
	}
	for i, v := range gate {
		if g.gate != "" {
			up[i] *= g.activation(v)
		} else {
			up[i] = g.activation(v)
		}
	}
	return g.linear(w, g.down, l, up)
}

// after is the residual stream after the block, given the output of the attention.
func (g golden) after(w weights, l int, a, x []float64) []float64 {
	z := added(x, a)
	if g.postNorm {
		z = g.normed(w, g.norm, l, z)
		return g.normed(w, g.norm2, l, added(z, g.feedForward(w, l, z)))
	}
	return added(z, g.feedForward(w, l, g.normed(w, g.norm2, l, z)))
}

func added(x, y []float64) []float64 {
	z := slices.Clone(x)
	for i := range z {
		z[i] += y[i]
	}
	return z
}

// outputWeight returns the output projection as the tensor output-weight, [L,H,E,D].
func (g golden) outputWeight(w weights, info trace.Info) trace.Tensor {
	L, H, D := info.Layers, info.Heads, info.Width
	E := len(w.at(g.output+".weight", 0)) / D / H
	return filled("output-weight", []int{L, H, E, D}, func(at []int) float64 {
		in, out := at[1]*E+at[2], at[3]
		m := w.at(g.output+".weight", at[0])
		if g.inFirst {
			return m[in*D+out]
		}
		return m[out*H*E+in]
	})
}

// TestModels compares what is recorded from small models of five families with the scores and
// attention of Hugging Face's code, and with their blocks computed again from the weights.
func TestModels(t *testing.T) {
	for _, g := range goldens {
		t.Run(g.name, g.test)
	}
}

func (g golden) test(t *testing.T) {
	dir := filepath.Join("..", "..", "models", "testdata", "goldens", g.name)
	m, err := models.Open(dir, models.Options{Backend: "go"})
	must(t, err)
	recorded, err := checkpoint.Open(filepath.Join(dir, "golden.safetensors"))
	must(t, err)
	defer recorded.Close()
	file, err := checkpoint.Open(filepath.Join(dir, "model.safetensors"))
	must(t, err)
	defer file.Close()
	all, err := recorded.Int64("input_ids")
	must(t, err)
	const T = 12
	ids := make([]int, T)
	for i := range ids {
		ids[i] = int(all[i])
	}
	x, err := focus.Record(context.Background(), m, ids, focus.Scores, focus.Updates, focus.Effects)
	must(t, err)
	if x.Bidirectional != (g.name == "bert") {
		t.Errorf("bidirectional is %v", x.Bidirectional)
	}
	taps, err := m.Trace(context.Background(), ids, []trace.Tap{
		trace.Scores, trace.Hidden, trace.HeadOutput, trace.Value, trace.Attention, trace.Terms,
	})
	must(t, err)
	alone, err := focus.New(taps[5:], focus.Options{Bidirectional: x.Bidirectional})
	must(t, err)
	w := weights{t, file}
	for l := range x.Layers {
		attention, err := recorded.Float64(fmt.Sprintf("attn.%d", l))
		must(t, err)
		for h := range x.Heads {
			rows, fromTerms := head(t, x, l, h), head(t, alone, l, h)
			g.checkTerms(t, m.Spec(), rows)
			at := (l*x.Heads + h) * T * T
			for k := range T * T {
				sum := rows.Terms[k] + rows.Terms[T*T+k] + rows.Terms[2*T*T+k]
				far(t, "sum of terms", sum, float64(taps[0].Data[at+k]), scoreTol)
				far(t, "score", rows.Scores[k], sum, scoreTol)
				far(t, "softmax of terms", fromTerms.Probability[k], attention[h*T*T+k],
					attentionTol)
				far(t, "attention", rows.Probability[k], attention[h*T*T+k], attentionTol)
			}
		}
		g.checkBlock(t, w, l, taps[1], taps[2])
	}
	given, err := focus.New([]trace.Tensor{
		taps[1], taps[3], taps[4], g.outputWeight(w, m.Info()),
	}, focus.Options{})
	must(t, err)
	sameUpdates(t, x, given)
}

func far(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Fatalf("%s = %v, want %v", what, got, want)
	}
}

// checkTerms checks which terms a model has: ALiBi is the slope of the head times the source's
// position, over √E in Falcon, and a query without a bias has no bias term.
func (g golden) checkTerms(t *testing.T, s *spec.Spec, h *focus.Head) {
	t.Helper()
	biased := false
	for i := range h.Targets {
		for j := range h.Visible(i) {
			at := i*h.Sources + j
			biased = biased || h.Terms[h.Targets*h.Sources+at] != 0
			want, tol := 0.0, 0.0
			if s.Positions == spec.ALiBi {
				want, tol = float64(spec.AlibiSlopes(s.Heads)[h.Head])*float64(j), 1e-6
			}
			if g.name == "falcon_rw" { // rounded to bfloat16, 8 bits
				want /= math.Sqrt(float64(s.HeadWidth))
				tol = want / 256
			}
			far(t, "alibi", h.Terms[2*h.Targets*h.Sources+at], want, tol)
		}
	}
	if biased != g.biased {
		t.Errorf("query-bias is there: %v, want %v", biased, g.biased)
	}
}

// checkBlock: with Σ_h c + b_O as the output of the attention, a block gives the next hidden state.
func (g golden) checkBlock(t *testing.T, w weights, l int, hidden, c trace.Tensor) {
	t.Helper()
	H, T, D := c.Shape[1], c.Shape[2], c.Shape[3]
	state := func(l, i int) []float64 {
		x := make([]float64, D)
		for d := range x {
			x[d] = float64(hidden.Data[(l*T+i)*D+d])
		}
		return x
	}
	for i := range T {
		a := make([]float64, D)
		copy(a, w.at(g.output+".bias", l))
		for h := range H {
			for d := range a {
				a[d] += float64(c.Data[((l*H+h)*T+i)*D+d])
			}
		}
		for d, want := range g.after(w, l, a, state(l, i)) {
			far(t, fmt.Sprintf("layer %d target %d after the block", l, i), state(l+1, i)[d], want,
				blockTol)
		}
	}
}

// sameUpdates compares updates and effects from the taps with those from values and the weights of
// the file.
func sameUpdates(t *testing.T, x, y *focus.Text) {
	t.Helper()
	for l := range x.Layers {
		for h := focus.Together; h < x.Heads; h++ {
			for _, index := range []focus.Index{focus.IndexCurrent, focus.IndexTarget} {
				a, err := x.Updates(l, h, focus.UpdateOptions{Index: index})
				b, err2 := y.Updates(l, h, focus.UpdateOptions{Index: index})
				if err := errors.Join(err, err2); err != nil || len(a) != len(b) {
					t.Fatal(err, len(a), len(b))
				}
				for i := range a {
					far(t, "magnitude", a[i].Magnitude, b[i].Magnitude, blockTol)
					far(t, "alignment", a[i].Alignment, b[i].Alignment, blockTol)
					if a[i].Source != b[i].Source {
						t.Fatalf("source %d, want %d", a[i].Source, b[i].Source)
					}
				}
			}
			a, err := x.Effects(l, h)
			b, err2 := y.Effects(l, h)
			must(t, errors.Join(err, err2))
			for i := range a {
				far(t, "effect", a[i].Magnitude, b[i].Magnitude, blockTol)
			}
		}
	}
}

// A window hides sources that come before it, and a cap bends the scores: probabilities are those
// of the model all the same.
func TestWindowAndCap(t *testing.T) {
	dir := filepath.Join("..", "..", "models", "testdata", "goldens", "gemma2")
	m, err := models.Open(dir, models.Options{Backend: "go"})
	must(t, err)
	x, err := focus.Record(context.Background(), m, []int{3, 4, 5, 6, 7, 8, 9, 10}, focus.Scores)
	must(t, err)
	hiding := 0
	for l := range x.Layers {
		h := head(t, x, l, 0)
		window := m.Spec().Window(l)
		for i := range h.Targets {
			sum := 0.0
			for j, p := range h.Row(i) {
				if outside := j > i || window > 0 && j <= i-window; outside && p != 0 {
					t.Errorf("layer %d: target %d sees %d", l, i, j)
				} else if outside {
					hiding++
				}
				sum += p
				at, n := i*h.Sources+j, h.Targets*h.Sources
				terms := h.Terms[at] + h.Terms[n+at] + h.Terms[2*n+at]
				limit := m.Spec().ScoreCap
				far(t, "capped score", h.Scores[at], limit*math.Tanh(terms/limit), scoreTol)
			}
			far(t, "sum", sum, 1, attentionTol)
		}
	}
	if hiding == 0 || m.Spec().ScoreCap == 0 {
		t.Error("the model has no window or cap")
	}
}

// goldenOf opens a small random checkpoint by its name.
func goldenOf(t *testing.T, name string) *models.Model {
	t.Helper()
	m, err := models.Open(filepath.Join("..", "..", "models", "testdata", "goldens", name),
		models.Options{Backend: "go"})
	must(t, err)
	return m
}

// Where a norm follows the attention, an update is what comes out of it: for all heads together,
// what the attention adds to the residual stream, and with the feed-forward part the next hidden
// state.
func TestUpdatesAfterNorm(t *testing.T) {
	ids := []int{3, 4, 5, 6, 7, 8, 9, 10}
	for _, name := range []string{"gemma2", "gemma3"} {
		m := goldenOf(t, name)
		x, err := focus.Record(context.Background(), m, ids, focus.Updates)
		must(t, err)
		taps, err := m.Trace(context.Background(), ids, []trace.Tap{trace.HeadOutput, trace.Hidden})
		must(t, err)
		file, err := checkpoint.Open(filepath.Join("..", "..", "models", "testdata", "goldens",
			name, "model.safetensors"))
		must(t, err)
		defer file.Close()
		w := weights{t, file}
		H, T, D := x.Heads, x.Targets, m.Info().Width
		for l := range x.Layers {
			gain := w.at("model.layers.#.post_attention_layernorm.weight", l)
			updates, err := x.Updates(l, focus.Together, focus.UpdateOptions{})
			must(t, err)
			for i, u := range updates {
				a, square := make([]float64, D), 0.0
				for h := range H {
					for d := range a {
						a[d] += float64(taps[0].Data[((l*H+h)*T+i)*D+d])
					}
				}
				for _, v := range a {
					square += v * v / float64(D)
				}
				c, stream := make([]float64, D), make([]float64, D)
				for d, v := range a {
					c[d] = v / math.Sqrt(square+m.Spec().NormEpsilon) * (1 + gain[d])
					stream[d] = float64(taps[1].Data[(l*T+i)*D+d])
				}
				far(t, name+" magnitude", u.Magnitude, length(c)/length(stream), blockTol)
				far(t, name+" alignment", u.Alignment, dot(c, stream)/length(c)/length(stream),
					blockTol)
			}
		}
	}
}

// RecordEach runs texts one by one and names the one that failed.
func TestRecordEach(t *testing.T) {
	m, err := models.Open("tiny", models.Options{Backend: "go"})
	must(t, err)
	lines := focus.Lines{Quantity: focus.Concentration}
	texts := [][]int{{1, 2, 3}, {4, 5}}
	err = focus.RecordEach(context.Background(), m, texts, func(k int, x *focus.Text) error {
		if x.Targets != len(texts[k]) {
			t.Errorf("text %d has %d targets", k, x.Targets)
		}
		return lines.Add(x)
	})
	if err != nil || lines.Texts != 2 {
		t.Fatalf("%v after %d texts", err, lines.Texts)
	}
	err = focus.RecordEach(context.Background(), m, [][]int{{1}, {}},
		func(int, *focus.Text) error { return nil })
	if err == nil || !strings.HasPrefix(err.Error(), "text 1: ") {
		t.Errorf("an empty text: %v", err)
	}
}

var must = testhelp.Must // ends a test at an error
