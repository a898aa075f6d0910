package train

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/tiny"
	"github.com/headwater-ml/headwater/internal/tokenizer"
	"github.com/headwater-ml/headwater/models/family"
)

func vocabulary(t *testing.T) *tokenizer.Tokenizer {
	t.Helper()
	tok, err := Tokenizer()
	must(t, err)
	return tok
}

// TestBatch reads rows back: complete documents between control tokens, targets one token later, a
// weight for answers, and equal batches on every run.
func TestBatch(t *testing.T) {
	cfg, tok := Default(), vocabulary(t)
	b := newBatch(cfg, tok, 3)
	if !cmp.Equal(b, newBatch(cfg, tok, 3), cmp.AllowUnexported(batch{})) {
		t.Error("two batches of one step differ")
	}
	if cmp.Equal(b.ids, newBatch(cfg, tok, 4).ids) {
		t.Error("batches of two steps are equal")
	}
	bos, eos := int32(mustID(tok, bosToken)), int32(mustID(tok, eosToken))
	answers := 0
	for k := range b.ids { // evidence stands before its target, in the same document
		for s, x := range b.evidence[k*b.length:][:b.length] {
			if x != 0 && (s > k%b.length || b.weights[k] != 1 ||
				slices.Contains(b.ids[k-k%b.length+s+1:k+1], bos)) {
				t.Fatalf("position %d rests on source %d", k, s)
			}
		}
	}
	for r := range b.rows {
		row := func(x []int32) []int32 { return x[r*b.length : (r+1)*b.length] }
		ids, targets, weights := row(b.ids), row(b.targets), b.weights[r*b.length:(r+1)*b.length]
		if ids[0] != bos {
			t.Fatalf("row %d begins with token %d, want %s", r, ids[0], bosToken)
		}
		for i, w := range weights {
			switch {
			case w == 1:
				answers++
			case w == 0:
				if slices.ContainsFunc(weights[i:], func(w float32) bool { return w != 0 }) ||
					ids[i] != eos {
					t.Fatalf("row %d: padding at %d within the text", r, i)
				}
			case w != float32(cfg.Context):
				t.Fatalf("row %d: weight %v at %d", r, w, i)
			}
			if w > 0 && i+1 < b.length && weights[i+1] > 0 && targets[i] != ids[i+1] &&
				(targets[i] != eos || ids[i+1] != bos) {
				t.Fatalf("row %d: after token %d should come %d, the next is %d", r, i, targets[i],
					ids[i+1])
			}
		}
	}
	if share := float64(answers) / float64(len(b.ids)); share < 0.05 || share > 0.5 {
		t.Errorf("a share of %v of the tokens are answers", share)
	}
}

// The batches of training are fixed, because the embedded weights were made from them.
func TestBatchesAreFixed(t *testing.T) {
	cfg, tok := Default(), vocabulary(t)
	h := fnv.New64a()
	for step := range 4 {
		b := newBatch(cfg, tok, step)
		fmt.Fprintln(h, b.ids, b.targets, b.weights)
		for i, x := range b.evidence {
			if x != 0 {
				fmt.Fprintln(h, i)
			}
		}
	}
	if got, want := h.Sum64(), uint64(0x17065bd472b9f22e); got != want {
		t.Errorf("the batches have changed (sum %#x, want %#x): train the embedded model again",
			got, want)
	}
}

// TestEncode: the tokens of each answer are marked, also if a name is several tokens.
func TestEncode(t *testing.T) {
	tok := vocabulary(t)
	d := tiny.Document{
		Kind:  tiny.Recall,
		Words: strings.Fields("clementine has the red key . who has the key ? clementine ."),
		Answers: []tiny.Answer{{
			Word:     11,
			Evidence: []tiny.Evidence{{Word: 0, Role: tiny.Source}, {Word: 4, Role: tiny.Cue}},
		}},
	}
	p := encode(tok, d)
	var answer []string
	for i, k := range p.answer {
		if k == 0 {
			answer = append(answer, tok.TokenText(p.ids[i]))
		}
	}
	if strings.Join(answer, "") != " clementine" || len(answer) != 2 {
		t.Errorf("the answer is %q, want the two pieces of \" clementine\"", answer)
	}
	if got := tok.TokenText(p.ids[p.evidence[0]]); len(p.evidence) != 1 || got != " key" {
		t.Errorf("the evidence is complete at %q, want \" key\" of the fact", got)
	}
}

// TestGuidance: a head that attends to all positions equally pays ln T nats for one piece of
// evidence, and a head that attends to it alone pays none. Positions without evidence do not count.
func TestGuidance(t *testing.T) {
	const n = 4
	backend, err := compute.NewWithConfig("go:ops_sequential")
	must(t, err)
	evidence := make([]float32, n*n)
	evidence[2*n+1] = 1 // target 2 rests on source 1
	for name, c := range map[string]struct {
		attention func(target, source int) float32
		want      float64
	}{
		"uniform": {func(int, int) float32 { return 1.0 / n }, math.Log(n)},
		"right":   {func(_, s int) float32 { return float32(1 - min(1, max(s-1, 1-s))) }, 0},
	} {
		data := make([]float32, 8*n*n)
		for i := range data {
			data[i] = c.attention(i/n%n, i%n)
		}
		out, err := graph.CallOnce(backend, func(a, e *graph.Node) *graph.Node {
			layers := make([]*graph.Node, 6)
			for l := range layers {
				layers[l] = a
			}
			return guidance(layers, e)
		},
			tensors.FromFlatDataAndDimensions(data, 1, 8, n, n),
			tensors.FromFlatDataAndDimensions(evidence, 1, n, n))
		must(t, err)
		if got := float64(out.Value().(float32)); math.Abs(got-c.want) > 1e-4 {
			t.Errorf("%s: guidance %v, want %v", name, got, c.want)
		}
	}
	if w := (Config{}).guide(0); w != 0 {
		t.Errorf("without guidance the weight is %v at the first step", w)
	}
	cfg := Config{Guided: 100}
	if cfg.guide(0) != 1 || cfg.guide(50) != 0.5 || cfg.guide(100) != 0 || cfg.guide(500) != 0 {
		t.Errorf("the weight does not fall from 1 to 0: %v %v %v", cfg.guide(0), cfg.guide(50),
			cfg.guide(100))
	}
}

// TestRight: every token of a name must be right; any verb in the right number is right.
func TestRight(t *testing.T) {
	tok := vocabulary(t)
	e := &evaluator{tok: tok}
	judge := func(d tiny.Document, change func(p passage, guess []int32)) bool {
		p := encode(tok, d)
		guess := make([]int32, len(p.ids))
		for i, id := range p.ids[1:] {
			guess[i] = int32(id)
		}
		change(p, guess)
		return e.right(d, 0, p, guess)
	}
	nothing := func(passage, []int32) {}
	name := tiny.Document{
		Kind: tiny.Recall, Words: strings.Fields("who has it ? clementine ."),
		Answers: []tiny.Answer{{Word: 4}},
	}
	// the answer's second token
	second := func(p passage, guess []int32) { guess[slices.Index(p.answer, 0)]++ }
	if !judge(name, nothing) || judge(name, second) {
		t.Error("a name of two tokens must be right in both")
	}
	verb := tiny.Document{
		Kind: tiny.Agreement, Words: strings.Fields("the keys are here ."),
		Answers: []tiny.Answer{{Word: 2, Form: "plural"}},
	}
	say := func(word string) func(p passage, guess []int32) {
		return func(p passage, guess []int32) {
			guess[slices.Index(p.answer, 0)-1] = int32(mustID(tok, "Ġ"+word))
		}
	}
	if !judge(verb, nothing) || !judge(verb, say("have")) || judge(verb, say("is")) ||
		judge(verb, say("red")) {
		t.Error("any plural verb is right after keys, and nothing else")
	}
}

// TestExportRoundTrip writes random weights as a checkpoint and reads them with the family that
// reads users' checkpoints.
func TestExportRoundTrip(t *testing.T) {
	spec := newSpec(vocabulary(t))
	rng := rand.New(rand.NewPCG(1, 1))
	weights := map[string][]float32{}
	for _, p := range spec.Params() {
		data := make([]float32, p.Size())
		for i := range data {
			data[i] = checkpoint.NewFloat16(float32(rng.NormFloat64())).Float32()
		}
		weights[p.Name] = data
	}
	tensors, err := tensorsOf(spec, weights)
	must(t, err)
	var file bytes.Buffer
	must(t, checkpoint.Write(&file, tensors, nil))
	f, err := checkpoint.FromBytes("model.safetensors", file.Bytes())
	must(t, err)
	bloom, err := family.Lookup(family.NewConfig("config.json",
		map[string]any{"architectures": []any{"BloomForCausalLM"}}))
	must(t, err)
	load, err := bloom.Loader("model.safetensors", f, spec)
	must(t, err)
	for _, p := range spec.Params() {
		got := make([]float32, p.Size())
		must(t, load(p, func(first int, values []float32) {
			copy(got[first:], values)
		}))
		if !slices.Equal(got, weights[p.Name]) {
			t.Errorf("%s does not survive the checkpoint", p.Name)
		}
	}
	delete(weights, "final-norm.gain")
	if _, err := tensorsOf(spec, weights); err == nil ||
		!strings.Contains(err.Error(), "final-norm.gain") {
		t.Errorf("a missing array gives %v", err)
	}
}

func TestRate(t *testing.T) {
	c := Config{Peak: 1, WarmUp: 10, Steps: 110}
	for step, want := range map[int]float64{0: 0.1, 9: 1, 10: 1, 60: 0.525, 110: 0.05, 200: 0.05} {
		if got := c.rate(step); math.Abs(got-want) > 1e-12 {
			t.Errorf("rate of step %d = %v, want %v", step, got, want)
		}
	}
}
