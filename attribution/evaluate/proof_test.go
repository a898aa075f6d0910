package evaluate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// begin is the control token of letters.
const begin = 1

// letters is a model of single letters after a control token. It continues a text that has a "?" by
// the letter after its first "=", with a logit of 8, and gives every other token 0; without a "?"
// it gives all tokens 0. Layer l pays 0.6 of its attention to the control token and the rest to the
// first letter layers[l] of the text.
type letters struct{ layers string }

func (m letters) Info() trace.Info {
	return trace.Info{
		Name: "letters", Hash: "letters " + m.layers, Layers: len(m.layers), Heads: 1,
		Vocab: 128, Head: trace.NextToken,
	}
}

func (m letters) Encode(s string, specials trace.Specials) (tokens []trace.Token, err error) {
	if specials == trace.SpecialsAuto {
		tokens = append(tokens, trace.Token{ID: begin, Text: "^", Special: true})
	}
	for i := range len(s) {
		tokens = append(tokens, trace.Token{ID: int(s[i]), Text: s[i : i+1], Begin: i, End: i + 1})
	}
	return tokens, nil
}

// logit is that of a token after a text.
func (m letters) logit(ids []int, token int) float64 {
	at := slices.Index(ids, '=') + 1
	if slices.Contains(ids, '?') && at > 0 && at < len(ids) && ids[at] == token {
		return 8
	}
	return 0
}

func (m letters) Steps(_ context.Context, ids []int, ask trace.Ask) iter.Seq2[trace.Step, error] {
	return func(yield func(trace.Step, error) bool) {
		T, L := len(ids), len(m.layers)
		rows := trace.Rows{First: T - 1, L: L, H: 1, N: 1, S: T, Data: make([]float32, L*T)}
		for l := range L {
			rows.Data[l*T] = .6
			rows.Data[l*T+max(0, slices.Index(ids, int(m.layers[l])))] += .4
		}
		token := trace.Token{ID: ask.Continuation[0], Text: string(rune(ask.Continuation[0]))}
		p := &trace.Prediction{
			Token: token, Position: T - 1, Probability: .5,
			Alternatives: []trace.Alternative{{Token: token, Probability: .5}},
		}
		yield(trace.Step{
			Count: T, Rows: slices.Repeat([]trace.Rows{rows}, len(ask.Mixings)),
			Next: p,
		}, nil)
	}
}

func (m letters) Replacement(kind string) (int, bool) { return '_', kind == "mask" }

func (m letters) Predict(_ context.Context, queries []trace.Query) (out []float64, err error) {
	for _, q := range queries {
		if q.IDs[0] != begin {
			return nil, fmt.Errorf("the control token was taken away: %v", q.IDs)
		}
		value := m.logit(q.IDs, q.Token)
		switch {
		case q.Contrast != nil:
			value -= m.logit(q.IDs, *q.Contrast)
		case q.Quantity == trace.Probability:
			value = (value + 1) / 9
		}
		out = append(out, value)
	}
	return out, nil
}

// proved is the case of the tests: R after "=" is the answer, S the foil and "?" a word of form.
func proved() evaluate.Case {
	return evaluate.Case{
		Group: "g", Prompt: "PQ=RS?", Continuation: "R", Contrast: "S", Evidence: [][2]int{{3, 4}},
		Changes: []evaluate.Change{
			{Span: [2]int{0, 1}, Text: "A"},
			{Span: [2]int{3, 4}, Text: "B", Answer: "B"},
			{Span: [2]int{4, 5}, Text: "C"},
			{Span: [2]int{5, 6}, Text: ".", Form: true},
			{Span: [2]int{5, 6}, Text: "!", Form: true},
		},
	}
}

// A case is scored if changing its evidence changes the answer and changing another word does not.
func TestProof(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(c *evaluate.Case)
		reason string // a part of it; empty if the case is proven
	}{
		{"proven", func(*evaluate.Case) {}, ""},
		{"proven without an answer after the change", func(c *evaluate.Case) { c.Changes[1].Answer = "" }, ""},
		{"proven by the probability", func(c *evaluate.Case) { c.Contrast, c.Changes[1].Answer = "", "" }, ""},
		{"a cue that does nothing", func(c *evaluate.Case) { c.Evidence = append(c.Evidence, [2]int{0, 1}) }, `evidence "P" decides nothing`},
		{"an answer that does not come", func(c *evaluate.Case) { c.Changes[1].Answer = "D" }, `evidence "R" decides nothing`},
		{"evidence that nobody changed", func(c *evaluate.Case) { c.Evidence = append(c.Evidence, [2]int{1, 2}) }, `evidence "Q" has no change`},
		{
			"another word that decides", func(c *evaluate.Case) {
				c.Changes = append(c.Changes, evaluate.Change{Span: [2]int{2, 3}, Text: "-"})
			}, `"=" is no evidence and decides`,
		},
		{"one of two changes of evidence", func(c *evaluate.Case) {
			c.Changes = append(c.Changes, evaluate.Change{Span: [2]int{3, 4}, Text: "R"})
		}, `evidence "R" decides nothing: with "R"`},
		{"a wrong answer", func(c *evaluate.Case) { c.Continuation, c.Contrast = "S", "R" }, "the model prefers another answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := proved()
			c.change(&x)
			var got *evaluate.Result
			opts := evaluate.Options{
				Methods: []string{"raw"},
				OnResult: func(r *evaluate.Result) error {
					got = r
					return nil
				},
			}
			report, err := evaluate.Run(t.Context(), letters{"R"}, []evaluate.Case{x}, opts)
			must(t, err)
			if proven := c.reason == ""; got.Proof.Proven() != proven ||
				!strings.Contains(got.Proof.Reason, c.reason) {
				t.Errorf("reason %q, want %q", got.Proof.Reason, c.reason)
			} else if _, scored := report.At("g", "raw", "average precision"); scored != proven ||
				report.Cases+report.Unproven != 1 ||
				(report.Cases == 1) != proven {
				t.Errorf("scored %v: %d cases and %d unproven", scored, report.Cases,
					report.Unproven)
			}
		})
	}
}

// By hand: what the changes of the case do, as the report says it.
func TestProofNumbers(t *testing.T) {
	cue := proved() // whose cue does nothing
	cue.Evidence = append(cue.Evidence, [2]int{0, 1})
	report, err := evaluate.Run(t.Context(), letters{"R"}, []evaluate.Case{proved(), cue},
		evaluate.Options{Methods: []string{"raw"}})
	must(t, err)
	if len(report.Proofs) != 1 {
		t.Fatalf("proofs %+v", report.Proofs)
	}
	p := report.Proofs[0]
	if p.Group != "g" || p.Cases != 2 || p.Proven != 1 {
		t.Errorf("%d of %d are proven in %q", p.Proven, p.Cases, p.Group)
	}
	for _, c := range []struct {
		what            string
		got             evaluate.Moves
		words, deciding int
		loss, logits    float64
		least, most     float64
	}{
		// From 8 for R against B to -8 in both cases, and P, which only the second calls evidence.
		{"evidence", p.Evidence, 3, 2, 4. / 3, 32. / 3, 0, 2},
		{"other words", p.Others, 3, 0, 0, 0, 0, 0},
		{"words of form", p.Forms, 2, 2, 1, 8, 1, 1}, // from 8 to 0
	} {
		if c.got.Words != c.words || c.got.Deciding != c.deciding {
			t.Errorf("%s: %d of %d decide, want %d of %d", c.what, c.got.Deciding, c.got.Words,
				c.deciding, c.words)
		}
		near(t, c.what+" lose", c.got.Loss.Mean, c.loss, 1e-12)
		near(t, c.what+" move logits", c.got.Logits.Mean, c.logits, 1e-12)
		near(t, c.what+" least", c.got.Least, c.least, 0)
		near(t, c.what+" most", c.got.Most, c.most, 0)
	}
}

// What counts as deciding is an option.
func TestProofLeast(t *testing.T) {
	c := proved()
	c.Contrast, c.Changes[1].Answer = "", "" // from a probability of 1 to 1/9: a loss of 8/9
	for least, want := range map[float64]int{0: 1, .88: 1, .9: 0} {
		report, err := evaluate.Run(t.Context(), letters{"R"}, []evaluate.Case{c},
			evaluate.Options{Methods: []string{"raw"}, Least: least})
		if err != nil || report.Cases != want {
			t.Errorf("with %v: %d cases are scored, want %d; %v", least, report.Cases, want, err)
		}
	}
}

// Control tokens, and words of form that decide, are no evidence and have no rank, whatever
// attention they get.
func TestRankedTokens(t *testing.T) {
	var got *evaluate.Result
	opts := evaluate.Options{
		Methods: []string{"raw"}, Faithful: true, Beam: 2,
		OnResult: func(r *evaluate.Result) error {
			got = r
			return nil
		},
	}
	report, err := evaluate.Run(t.Context(), letters{"R"}, []evaluate.Case{proved()}, opts)
	must(t, err)
	if diff := cmp.Diff([]int{1, 2, 3, 4, 5, 6}, got.Words); diff != "" {
		t.Errorf("words of ^PQ=RS? (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{1, 2, 3, 4, 5}, got.Ranked); diff != "" {
		t.Errorf("ranked of ^PQ=RS? (-want +got):\n%s", diff)
	}
	for _, c := range []struct {
		line, measure string
		want          float64
	}{
		{"raw", "average precision", 1}, // ½ with the control token, which has 0.6
		{"raw", "share on evidence", 1},
		{"raw", "rank", 1},
		{"chance", "rank", 3}, // of five
		{"chance", "share on evidence", 1. / 5},
		{"chance", "average precision", (1 + 1./2 + 1./3 + 1./4 + 1./5) / 5},
		{"earliest first", "rank", 4}, // after P, Q and "="
		{"latest first", "rank", 2},   // after S
		{"earliest first", "average precision", 1. / 4},
		{"latest first", "average precision", 1. / 2},
	} {
		s, ok := report.At("g", c.line, c.measure)
		near(t, c.line+" "+c.measure, s.Mean, c.want, 1e-12)
		if !ok {
			t.Errorf("%s has no %s", c.line, c.measure)
		}
	}
	leads := map[string]float64{
		"earliest first": 3. / 4, "latest first": 1. / 2, "chance": 1 - (1+1./2+1./3+1./4+1./5)/5,
	}
	for _, lead := range report.Leads {
		if want, ok := leads[lead.Line]; ok {
			near(t, "lead of raw above "+lead.Line, lead.Methods[0].Mean, want, 1e-12)
		}
	}
	if len(report.Leads) != 4 {
		t.Errorf("%d leads", len(report.Leads))
	}
	if s, _ := report.At("g", "latest first", "share on evidence"); s.N != 0 {
		t.Errorf("positions have a share: %+v", s)
	}
	if _, ok := report.At("g", "earliest first", "AOPC"); !ok {
		t.Error("positions take nothing away")
	}
	if diff := cmp.Diff([]string{"raw", "random", "earliest first", "latest first", "chance"},
		report.Methods); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// marks is a case whose evidence is one letter of a text, found by the layer that attends to it.
func marks(group string, letter int, selection bool) evaluate.Case {
	return evaluate.Case{
		Group: group, Prompt: "PQRSTUVW", Continuation: "x",
		Evidence: [][2]int{{letter, letter + 1}}, Selection: selection,
	}
}

// The layer that is scored is the one that is best over all kinds of other cases, not the best of
// the cases that are scored, nor that of each kind.
func TestPickedLayer(t *testing.T) {
	m := letters{"PQR"}
	cases := []evaluate.Case{
		// the last layer finds three of four
		marks("a", 1, false), marks("b", 2, false), marks("b", 2, false), marks("b", 2, false),
		// the one in the middle two of three
		marks("a", 1, true), marks("a", 1, true), marks("b", 2, true),
	}
	results := map[int]*evaluate.Result{}
	opts := evaluate.Options{Methods: []string{"raw"}, OnResult: func(r *evaluate.Result) error {
		results[r.Case] = r
		return nil
	}}
	report, err := evaluate.Run(t.Context(), m, cases, opts)
	must(t, err)
	// A letter that is not attended to is anywhere after the one that is.
	missed := (1./2 + 1./3 + 1./4 + 1./5 + 1./6 + 1./7 + 1./8) / 7
	if layer, ok := report.PickedLayer("raw"); !ok || layer != 1 || report.Cases != 4 ||
		report.Selection != 3 {
		t.Errorf("layer %d, %v; %d cases, %d choose", layer, ok, report.Cases, report.Selection)
	}
	if _, ok := report.PickedLayer("random"); ok {
		t.Error("random scores are said to have one layer")
	}
	for group, want := range map[string]float64{"a": 1, "b": missed, "all": (1 + 3*missed) / 4} {
		s, _ := report.At(group, "raw", "average precision")
		near(t, "average precision of "+group, s.Mean, want, 1e-12)
	}
	if len(report.Layers) != 1 {
		t.Fatalf("layers %+v", report.Layers)
	}
	l := report.Layers[0]
	if diff := cmp.Diff([]int{1, 1, 1}, l.Picked); diff != "" || !l.Chosen || l.Method != "raw" {
		t.Errorf("picked (-want +got):\n%s%+v", diff, l)
	}
	if diff := cmp.Diff([]int{1, 2, 2}, l.Best); diff != "" {
		t.Errorf("best in hindsight (-want +got):\n%s", diff)
	}
	for k, want := range []float64{missed, (1 + 3*missed) / 4, (missed + 3) / 4} {
		near(t, fmt.Sprint("average precision of layer ", k), l.Table[2][k].Mean, want, 1e-12)
	}
	if results[4].Scores != nil || results[4].Measures != nil {
		t.Errorf("a case that chooses layers was scored: %+v", results[4])
	}
	// A run that goes on from its results chooses the same layer.
	delete(results, 0)
	opts.Done = results
	again, err := evaluate.Run(t.Context(), m, cases, opts)
	a, _ := json.Marshal(report)
	b, _ := json.Marshal(again)
	if err != nil || string(a) != string(b) {
		t.Errorf("resumed (-whole +resumed):\n%s%v", cmp.Diff(string(a), string(b)), err)
	}
	// Results of another model choose nothing, and without any the last layer is scored.
	for i := range cases {
		cases[i].Selection = false
	}
	opts.Done, opts.OnResult = nil, nil
	report, err = evaluate.Run(t.Context(), m, cases, opts)
	if layer, ok := report.PickedLayer("raw"); err != nil || !ok || layer != 2 ||
		report.Layers[0].Chosen {
		t.Errorf("without a selection: layer %d, %v, %+v, %v", layer, ok, report.Layers[0], err)
	}
}

// A result of an earlier run that does not belong to its case is an error. A file of results may be
// damaged; it ended the program.
func TestDamagedResults(t *testing.T) {
	opts := evaluate.Options{Methods: []string{"raw"}}
	cases := []evaluate.Case{proved()}
	var kept *evaluate.Result
	opts.OnResult = func(r *evaluate.Result) error {
		kept = r
		return nil
	}
	if _, err := evaluate.Run(t.Context(), letters{"R"}, cases, opts); err != nil || kept == nil {
		t.Fatal(kept, err)
	}
	for want, damage := range map[string]func(r *evaluate.Result){
		"": func(*evaluate.Result) {},
		`it is of group "other", and the case of "g"`: func(r *evaluate.Result) {
			r.Group = "other"
		},
		"0 scores and": func(r *evaluate.Result) { r.Scores = nil },
		"1 scores and": func(r *evaluate.Result) { r.Scores = map[string][]float64{"raw": {1}} },
		"0 measures":   func(r *evaluate.Result) { r.Measures = nil },
		"0 measures of latest first": func(r *evaluate.Result) {
			r.Measures = maps.Clone(r.Measures)
			delete(r.Measures, evaluate.LatestLine)
		},
		"0 scores and 0 measures of earliest first": func(r *evaluate.Result) {
			r.Scores, r.Measures = maps.Clone(r.Scores), maps.Clone(r.Measures)
			delete(r.Scores, evaluate.EarliestLine)
			delete(r.Measures, evaluate.EarliestLine)
		},
		"token 99 of": func(r *evaluate.Result) { r.Words = []int{99} },
		"token -1 of": func(r *evaluate.Result) { r.Ranked = []int{-1} },
		"values of raw": func(r *evaluate.Result) {
			r.ByLayer = map[string][]evaluate.Value{"raw": make([]evaluate.Value, 7)}
		},
	} {
		one := *kept
		damage(&one)
		opts.Done = map[int]*evaluate.Result{0: &one}
		_, err := evaluate.Run(t.Context(), letters{"R"}, cases, opts)
		if want == "" && err != nil || want != "" && (err == nil ||
			!strings.Contains(err.Error(), "is damaged") || !strings.Contains(err.Error(), want)) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// Spans that are no part of the prompt are an error. They ended the program where evidence had no
// change, and else changed the scores without a word.
func TestSpanRefusals(t *testing.T) {
	for _, c := range []struct {
		want   string
		change func(c *evaluate.Case)
	}{
		{
			"evidence, number 2: bytes 90 to 99 of a prompt of 6 bytes: want 0 ≤ begin < end ≤ 6",
			func(c *evaluate.Case) { c.Evidence = append(c.Evidence, [2]int{90, 99}) },
		},
		{
			"evidence, number 2: bytes 3 to 1 of a prompt",
			func(c *evaluate.Case) { c.Evidence = append(c.Evidence, [2]int{3, 1}) },
		},
		{
			"evidence, number 2: bytes 2 to 2 of a prompt",
			func(c *evaluate.Case) { c.Evidence = append(c.Evidence, [2]int{2, 2}) },
		},
		{
			"evidence, number 2: bytes -1 to 2 of a prompt",
			func(c *evaluate.Case) { c.Evidence = append(c.Evidence, [2]int{-1, 2}) },
		},
		{
			"question, number 1: bytes 0 to 7 of a prompt",
			func(c *evaluate.Case) { c.Question = [][2]int{{0, 7}} },
		},
		{
			"evidence, number 1: bytes 0 to 1 of the prompt: byte 1 is within a character",
			func(c *evaluate.Case) { c.Prompt, c.Evidence = "ÄQ=RS?", [][2]int{{0, 1}} },
		},
		{
			"change 0: a change of bytes 0 to 1 of the prompt: byte 1 is within a character",
			func(c *evaluate.Case) { c.Prompt, c.Evidence, c.Changes[0].Span = "ÄQ=RS?", nil, [2]int{0, 1} },
		},
		{
			"positions [2]; \"letters\" is a decoder",
			func(c *evaluate.Case) { two := 2; c.Position = &two },
		},
	} {
		one := proved()
		c.change(&one)
		_, err := evaluate.Run(t.Context(), letters{"R"}, []evaluate.Case{one},
			evaluate.Options{Methods: []string{"raw"}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

func TestChangeRefusals(t *testing.T) {
	for want, change := range map[string]func(c *evaluate.Case){
		"change 0: with \"AA\" for \"P\" the prompt has 8 tokens and had 7": func(
			c *evaluate.Case,
		) {
			c.Changes[0].Text = "AA"
		},
		"want 0 ≤ begin < end ≤ 6": func(
			c *evaluate.Case,
		) {
			c.Changes[0].Span = [2]int{5, 7}
		},
		"a change of bytes 2 to 2": func(
			c *evaluate.Case,
		) {
			c.Changes[0].Span = [2]int{2, 2}
		},
		"a change of bytes -1 to 2": func(
			c *evaluate.Case,
		) {
			c.Changes[0].Span = [2]int{-1, 2}
		},
		"\"BB\" is 2 tokens": func(
			c *evaluate.Case,
		) {
			c.Changes[1].Answer = "BB"
		},
		"10001 changes; at most": func(
			c *evaluate.Case,
		) {
			c.Changes = slices.Repeat(c.Changes[:1], 10_001)
		},
	} {
		c := proved()
		change(&c)
		if _, err := evaluate.Run(t.Context(), letters{"R"}, []evaluate.Case{c},
			evaluate.Options{Methods: []string{"raw"}}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	mute := struct{ trace.Model }{letters{"R"}} // predicts no other texts
	if _, err := evaluate.Run(t.Context(), mute, []evaluate.Case{proved()},
		evaluate.Options{Methods: []string{"raw"}}); err == nil ||
		!strings.Contains(err.Error(), "predicts tokens of other texts") {
		t.Errorf("error %v of a model that does not predict", err)
	}
	for _, c := range []struct {
		text, answer string
		want         bool
	}{{"A", "", true}, {"A", "B", true}, {"A", "BC", false}, {"AB", "", false}, {"", "", false}} {
		change := evaluate.Change{Span: [2]int{0, 1}, Text: c.text, Answer: c.answer}
		if fits, err := change.Fits(letters{"R"}, "PQ=RS?", trace.SpecialsAuto); fits != c.want ||
			err != nil {
			t.Errorf("%+v fits: %v, %v", change, fits, err)
		}
	}
}
