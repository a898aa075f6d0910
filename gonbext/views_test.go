package gonbext_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/study/patch"
)

// sendTensor answers with a tensor of four axes, such as attention.
func sendTensor(conn *engineConn, shape []int, values ...float32) {
	conn.send(engine.Event{Tensor: &trace.Tensor{
		Name: "attention", Axes: "LHTS", Shape: shape,
	}})
	var data []byte
	for _, x := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	conn.send(engine.Event{Piece: data})
	conn.send(engine.Event{Done: true})
}

// answer answers with the text "the keys are".
func answer(conn *engineConn) {
	begin(conn)
	step(conn, " are")
	conn.send(engine.Event{Done: true})
}

// answerFlow answers with the text "the keys are" and its flow.
func answerFlow(conn *engineConn) {
	conn.send(engine.Event{Explanation: &attribution.Explanation{
		Model: trace.Info{Name: "tiny", Layers: 1, Heads: 1},
		Prompt: attribution.Prompt{
			Text: "the keys", Texts: []string{"the", " keys"}, IDs: []int{1, 2},
			Special: []bool{false, false},
		},
		Order: []string{"flow"},
		Methods: map[string]*attribution.Result{
			"flow": {Layers: []int{0}, Shape: [3]int{0, 2, 1}, Unit: "flow"},
		},
	}})
	conn.send(engine.Event{Step: true, Explanation: &attribution.Explanation{
		Steps: []attribution.GeneratedToken{{ID: 3, Text: " are", Probability: 0.5}},
		Methods: map[string]*attribution.Result{
			"flow": {Shape: [3]int{1}, Rows: [][]float64{{0.25, 0.75}}, OtherMass: []float64{0}},
		},
	}})
	conn.send(engine.Event{Done: true})
}

// answerExperts answers with the text "the keys are" by a model with four experts.
func answerExperts(conn *engineConn) {
	conn.send(engine.Event{Explanation: &attribution.Explanation{
		Model: trace.Info{Name: "tiny", Layers: 1, Heads: 1, Experts: 4},
		Prompt: attribution.Prompt{
			Text: "the keys", Texts: []string{"the", " keys"}, IDs: []int{1, 2},
			Special: []bool{false, false},
		},
		Order: []string{"rollout"},
		Methods: map[string]*attribution.Result{
			"rollout": {Layers: []int{0}, Shape: [3]int{0, 2, 1}, Unit: "share of attention"},
		},
	}})
	step(conn, " are")
	conn.send(engine.Event{Done: true})
}

// TestRecordedCells: cells that ask the engine for a text, then for the attention over its tokens
// or their experts, and show what is made of it.
func TestRecordedCells(t *testing.T) {
	over3 := []float32{1, 0, 0, 0.5, 0.5, 0, 0.2, 0.7, 0.1}
	for _, c := range []struct {
		cell, stdout, show string
		answer             func(*engineConn)
		ids                []int // those of which the attention or the experts are asked
		recorded           []float32
		want               []string
		refused            map[string]string // other cells, and what they show
	}{
		{
			"heads", "heads 1\n", `{"kind":"heads","token":0}`, answer, []int{1, 2, 3}, over3,
			[]string{"head 0 of layer 0 looked at", "hm-heads", "All heads"},
			map[string]string{"heads by word": "heads are shown as they are"},
		},
		{
			"maps", "maps 1\n", `{"kind":"maps"}`, answer, []int{1, 2, 3}, over3,
			[]string{"from every token", "layer 0 · raw", "hm-maps", "70.0 %"},
			map[string]string{
				"maps of direct": "there are no maps of method &#34;direct&#34;",
				"maps by word":   "maps show every token",
			},
		},
		{ // numbers and weights
			"experts", "experts 1\n", `{"kind":"experts"}`, answerExperts, []int{1, 2, 3},
			[]float32{3, 0.5, 2, 0.25, 3, 0.75},
			[]string{
				"layer 0 used expert 3<span class=\"hm-q\"", "(75 %)",
				"; 1 of 1 layers used the same first expert as at <b>the</b>", "hm-experts",
			},
			map[string]string{"experts by word": "experts take tokens one by one"},
		},
		{ // the tokens up to the one that predicts; half of its attention and the residual is 0.75
			"flow graph", "flow 1\n", `{"kind":"flow"}`, answerFlow, []int{1, 2},
			[]float32{1, 0, 0.5, 0.5},
			[]string{"At most 0.750 flows from “keys” (1) to “keys” (1)", "hm-flow"},
			map[string]string{
				"flow graph by word": "a graph of flow has tokens and edges as they are",
			},
		},
	} {
		t.Run(c.cell, func(t *testing.T) {
			asked := make(chan []int, 1)
			k := newKernel(t, func(conn *engineConn, r engine.Request) {
				if r.Kind != engine.KindTrace {
					if string(r.Show) != c.show {
						t.Errorf("it is shown as %s, want %s", r.Show, c.show)
					}
					c.answer(conn)
					return
				}
				asked <- r.IDs
				n := len(c.ids)
				shape := []int{1, 1, n, n}
				if c.cell == "experts" {
					shape = []int{1, n, 1, 2}
				}
				sendTensor(conn, shape, c.recorded...)
			})
			r := k.run(c.cell, true)
			left := saved(r.displays)
			if r.status != 0 || r.stdout != c.stdout || r.stderr != "" || len(left) != 1 {
				t.Fatalf("status %d, stdout %q, stderr %q, %d displays: %.500v", r.status,
					r.stdout, r.stderr, len(left), left)
			}
			if got := <-asked; !slices.Equal(got, c.ids) {
				t.Errorf("the engine was asked for ids %v, want %v", got, c.ids)
			}
			shown := fmt.Sprint(left[0])
			for _, want := range c.want {
				if !strings.Contains(shown, want) {
					t.Errorf("the picture lacks %q", want)
				}
			}
			for cell, want := range c.refused {
				shown := fmt.Sprint(saved(k.run(cell, true).displays))
				if !strings.Contains(shown, want) {
					t.Errorf("%s shows %.300q, want %q", cell, shown, want)
				}
			}
		})
	}
}

// TestPatchCell: a cell asks the engine for patches of two prompts, and shows what comes last.
func TestPatchCell(t *testing.T) {
	k := newKernel(t, func(conn *engineConn, r engine.Request) {
		if o := string(r.Options); string(r.Show) != `{"kind":"patch"}` ||
			!strings.Contains(o, `"studies":{"corrupted":"the key","patch":"residual"}`) {
			t.Errorf("the engine was asked for %s, shown as %s", o, r.Show)
		}
		begin(conn)
		step(conn, " are")
		found := attribution.Findings{patch.Name: &patch.Result{
			Place: patch.Residual, Direction: patch.Denoising, Clean: []string{"the", " keys"},
			Corrupted: []string{"the", " key"}, Different: []int{1}, Position: 1,
			Answer: patch.Token{ID: 3, Text: " are"}, Foil: patch.Token{ID: 4, Text: " is"},
			Shape: [2]int{1, 2}, Recovery: []float64{.25, .75}, Runs: 2,
		}}
		conn.send(engine.Event{Explanation: &attribution.Explanation{Studies: found}})
		conn.send(engine.Event{Done: true})
	})
	for cell, want := range map[string]string{
		"patch":         "carried by the last token (<b>⟨keys│key⟩</b>) in all layers",
		"patch by word": "a picture of the kind patch has every token and layer",
	} {
		r := k.run(cell, true)
		if shown := fmt.Sprint(saved(r.displays)); !strings.Contains(shown, want) {
			t.Errorf("%s shows %.500q, want %q", cell, shown, want)
		}
		if cell == "patch" && r.stdout != "patch 2\n" {
			t.Errorf("stdout %q, stderr %q", r.stdout, r.stderr)
		}
	}
}

// sides is a small explanation with two methods.
func sides() *gonbext.Explanation {
	e := &gonbext.Explanation{
		Prompt: attribution.Prompt{Text: "the keys", Texts: []string{"the", " keys"}},
		Steps:  []attribution.GeneratedToken{{Text: " are", Probability: 0.5}},
		Order:  []string{"rollout", "flow"}, Methods: map[string]*attribution.Result{},
	}
	for i, name := range e.Order {
		e.Methods[name] = &attribution.Result{
			Unit: "share", Facts: attribution.Facts{Quantity: attribution.Share},
			Layers: []int{0}, Shape: [3]int{1, 2, 1},
			Rows: [][]float64{{0.2 + 0.1*float64(i), 0.8 - 0.1*float64(i)}},
		}
	}
	return e
}

// layered is sides with two layers.
func layered() *gonbext.Explanation {
	e := sides()
	r := e.Methods["rollout"]
	r.Layers, r.Shape, r.Rows = []int{0, 1}, [3]int{1, 2, 2}, [][]float64{{0.1, 0.9}, {0.2, 0.8}}
	return e
}

// TestCellsWithoutEngine: cells that show an explanation that is there ask the engine for nothing.
func TestCellsWithoutEngine(t *testing.T) {
	k := newKernel(t, func(*engineConn, engine.Request) { t.Error("the engine was asked") })
	for cell, want := range map[string][]string{
		"compare":        {"A − B", "A: rollout · B: flow"},
		"compare layers": {"Two layers compared", "A: rollout@0 · B: rollout@1"},
		"compare wrong":  {`has no method &#34;rolout&#34;; did you mean rollout?`},
		"layers":         {"hm-layers", "the largest of all layers: keys 90.0 % in layer 0"},
		"layers wrong":   {"no values of several layers of rollout, flow; explain with AllLayers"},
	} {
		r := k.run(cell, true)
		shown := fmt.Sprint(saved(r.displays))
		if !strings.HasSuffix(cell, "wrong") && (r.status != 0 || r.stderr != "") {
			t.Errorf("%s: status %d, stderr %q", cell, r.status, r.stderr)
		}
		for _, want := range want {
			if !strings.Contains(shown, want) {
				t.Errorf("%s shows %.300q, want %q", cell, shown, want)
			}
		}
	}
}

func TestCompareErrors(t *testing.T) {
	for _, c := range []struct {
		b       *gonbext.Explanation
		methods []string
		want    string
	}{
		{nil, nil, "one is nil"},
		{sides(), []string{"a", "b", "c"}, "3 methods for two sides"},
		{sides(), []string{"rollout", "flw"}, "did you mean flow?"},
		{sides(), []string{"rollout@x"}, "rollout@x\" is not a method and its layer"},
		{sides(), []string{"rollout", "flow@-1"}, "flow@-1\" is not a method and its layer"},
		{
			sides(),
			[]string{"rollout", "flow@3"},
			"layer 3 of method \"flow\" was not kept in explanation B, which has layer 0 alone",
		},
	} {
		err := gonbext.TryCompare(sides(), c.b, c.methods...)
		if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want %q", c.methods, err, c.want)
		}
	}
}
