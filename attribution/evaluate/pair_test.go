package evaluate_test

import (
	"context"
	"errors"
	"iter"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// choosing is letters that also chooses: the letter after "=" where letters has one, else "0". A
// "!" in the text makes it choose "X", whatever else is there.
type choosing struct{ letters }

func (m choosing) choice(ids []int) int {
	if slices.Contains(ids, '!') {
		return 'X'
	}
	if at := slices.Index(ids, '=') + 1; at > 0 && at < len(ids) && m.logit(ids, ids[at]) > 0 {
		return ids[at]
	}
	return '0'
}

func (m choosing) Steps(
	ctx context.Context, ids []int, ask trace.Ask,
) iter.Seq2[trace.Step, error] {
	if len(ask.Continuation) == 0 {
		ask.Continuation = []int{m.choice(ids)}
	}
	return m.letters.Steps(ctx, ids, ask)
}

func (m choosing) Predict(ctx context.Context, queries []trace.Query) ([]float64, error) {
	values, err := m.letters.Predict(ctx, queries)
	for i, q := range queries {
		if q.Quantity == trace.Margin {
			values[i] = -8
			if m.choice(q.IDs) == q.Token {
				values[i] = 8
			}
		}
	}
	return values, err
}

// paired is the pair of the tests: R after "=" is the answer, and "?" asks for it.
func paired() evaluate.Case {
	return evaluate.Case{
		Group: "g", Prompt: "PQ=RS?", Counterfactual: "PQ=TS?", Continuation: "R", Contrast: "T",
		Evidence: [][2]int{{3, 4}}, Question: [][2]int{{2, 3}, {5, 6}},
		Changes: []evaluate.Change{
			{Span: [2]int{0, 1}, Text: "A"},
			{Span: [2]int{2, 3}, Text: "-"},
			{Span: [2]int{4, 5}, Text: "!"},
			{Span: [2]int{4, 5}, Text: "C"},
			{Span: [2]int{5, 6}, Text: "."},
		},
	}
}

// A pair is scored if the model chooses the answer, the counterfactual makes it choose the foil,
// and for every other word one of the changes leaves the answer.
func TestPair(t *testing.T) {
	for _, c := range []struct {
		name     string
		change   func(c *evaluate.Case)
		reason   string // a part of it; empty if the case is proven
		answered bool
	}{
		{"proven", func(*evaluate.Case) {}, "", true},
		{"several answers", func(c *evaluate.Case) {
			c.Continuation, c.Contrast = "", ""
			c.Answers, c.Foils = []string{"Q", "R"}, []string{"two letters", "T"}
		}, "", true},
		{"another answer", func(c *evaluate.Case) { c.Continuation = "S" }, "the model gives another answer", false},
		{"a counterfactual that changes nothing", func(c *evaluate.Case) {
			c.Counterfactual, c.Foils = "PQ=RT?", []string{"R", "T"}
		}, `the counterfactual gives "R"`, true},
		{"another foil", func(c *evaluate.Case) { c.Contrast = "U" }, `the counterfactual gives "T"`, true},
		{"another word that decides", func(c *evaluate.Case) {
			c.Changes = append(c.Changes[:3], evaluate.Change{Span: [2]int{1, 2}, Text: "!"})
		}, `"S" is no evidence and decides: with "!"`, true},
		{"a word that decides with one change of two", func(c *evaluate.Case) {
			c.Changes[2], c.Changes[3] = c.Changes[3], c.Changes[2]
		}, "", true},
		{"no evidence", func(c *evaluate.Case) { c.Evidence = nil }, "the pair names no evidence", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := paired()
			c.change(&x)
			got, report, err := runPair(t, x, evaluate.Options{Methods: []string{"raw"}})
			must(t, err)
			reason := got.Proof.Reason
			if !strings.Contains(reason, c.reason) || (reason == "") != (c.reason == "") {
				t.Errorf("reason %q, want one with %q", reason, c.reason)
			}
			if got.Answered != c.answered {
				t.Errorf("answered %v, want %v", got.Answered, c.answered)
			}
			p := report.Proofs[0]
			if p.Cases != 1 || p.Answered == 1 != c.answered || p.Proven == 1 != (c.reason == "") ||
				p.Strict != 0 { // "=" decides in all of them
				t.Errorf("proofs %+v", p)
			}
		})
	}
}

// A pair is strict if no word besides its evidence decides, with any change.
func TestPairStrict(t *testing.T) {
	for _, c := range []struct {
		name    string
		changes []evaluate.Change
		strict  bool
	}{
		{"no other word", []evaluate.Change{{Span: [2]int{0, 1}, Text: "A"}}, true},
		{"a word that asks", []evaluate.Change{{Span: [2]int{2, 3}, Text: "-"}}, false},
		{"one change of two", []evaluate.Change{
			{Span: [2]int{4, 5}, Text: "!"}, {Span: [2]int{4, 5}, Text: "C"},
		}, false},
	} {
		x := paired()
		x.Changes = c.changes
		got, report, err := runPair(t, x, evaluate.Options{Methods: []string{"raw"}})
		must(t, err)
		p := report.Proofs[0]
		if !got.Proof.Proven() || got.Proof.Strict() != c.strict || p.Strict == 1 != c.strict {
			t.Errorf("%s: %+v, proofs %+v", c.name, got.Proof, p)
		}
	}
}

// runPair runs one case and returns its result.
func runPair(
	t *testing.T, c evaluate.Case, opts evaluate.Options,
) (got *evaluate.Result, report *evaluate.Report, err error) {
	t.Helper()
	opts.OnResult = func(r *evaluate.Result) error {
		got = r
		return nil
	}
	report, err = evaluate.Run(t.Context(), choosing{letters{"R"}}, []evaluate.Case{c}, opts)
	return got, report, err
}

// Words of the question that decide are not ranked, and neither are control tokens. Raw attention
// goes to the control token and to R, so R is first of the five letters that are left.
func TestPairRanks(t *testing.T) {
	got, report, err := runPair(t, paired(), evaluate.Options{Methods: []string{"raw"}})
	must(t, err)
	// The tokens are ^PQ=RS?, and "=" and "?" decide.
	if want := []int{1, 2, 4, 5}; !slices.Equal(got.Ranked, want) {
		t.Errorf("ranked %v, want %v", got.Ranked, want)
	}
	for measure, want := range map[string]float64{
		"average precision": 1, "average precision by value": 1, "positive share on evidence": 1,
		"top token is evidence": 1, "evidence in the top 3": 1, "reciprocal rank": 1,
	} {
		if s, ok := report.At("g", "raw", measure); !ok || s.Mean != want {
			t.Errorf("%s is %+v, want %v", measure, s, want)
		}
	}
	// R is third of four from the left: in the top 3, and not the first.
	for line, want := range map[string][2]float64{
		evaluate.EarliestLine: {0, 1}, evaluate.LatestLine: {0, 1}, evaluate.ChanceLine: {.25, .75},
	} {
		first, _ := report.At("g", line, "top token is evidence")
		third, _ := report.At("g", line, "evidence in the top 3")
		if math.Abs(first.Mean-want[0]) > 1e-12 || math.Abs(third.Mean-want[1]) > 1e-12 {
			t.Errorf("%s: %v and %v, want %v", line, first.Mean, third.Mean, want)
		}
	}
}

// noBegin has no control token, so the first letter of the text is the sink.
type noBegin struct{ choosing }

func (m noBegin) Encode(s string, _ trace.Specials) ([]trace.Token, error) {
	return m.choosing.Encode(s, trace.SpecialsOff)
}

func (m noBegin) Predict(ctx context.Context, queries []trace.Query) ([]float64, error) {
	queries = slices.Clone(queries)
	for i := range queries {
		queries[i].IDs = append([]int{begin}, queries[i].IDs...)
	}
	return m.choosing.Predict(ctx, queries)
}

// The first token of a pair is never ranked and never evidence.
func TestPairSink(t *testing.T) {
	var got *evaluate.Result
	opts := evaluate.Options{Methods: []string{"raw"}, OnResult: func(r *evaluate.Result) error {
		got = r
		return nil
	}}
	run := func(c evaluate.Case) {
		t.Helper()
		if _, err := evaluate.Run(t.Context(), noBegin{choosing{letters{"R"}}},
			[]evaluate.Case{c}, opts); err != nil {
			t.Fatal(err)
		}
	}
	run(paired())
	if want := []int{1, 3, 4}; !slices.Equal(got.Ranked, want) {
		t.Errorf("ranked %v, want %v", got.Ranked, want)
	}
	c := paired()
	c.Evidence = append(c.Evidence, [2]int{0, 1})
	run(c)
	if !strings.Contains(got.Proof.Reason, "at the first token") {
		t.Errorf("reason %q", got.Proof.Reason)
	}
}

// A group ends at its limit; what was tried until then is counted. Others gives the changes.
func TestPairLimit(t *testing.T) {
	wrong := paired()
	wrong.Continuation = "S"
	other := paired()
	other.Group = "h"
	cases := []evaluate.Case{wrong, paired(), paired(), wrong, other}
	for i := range cases {
		cases[i].Changes = nil
	}
	asked := 0
	opts := evaluate.Options{
		Methods: []string{"raw"}, Limit: 1,
		Others: func(_ trace.Model, c evaluate.Case) ([]evaluate.Change, error) {
			asked++
			return paired().Changes, nil
		},
	}
	r, err := evaluate.Run(t.Context(), choosing{letters{"R"}}, cases, opts)
	must(t, err)
	if r.Cases != 2 || r.Unproven != 1 || asked != 2 || r.Proofs[0].Cases != 2 ||
		r.Proofs[0].Proven != 1 || r.Proofs[1].Cases != 1 {
		t.Errorf("%d cases, %d unproven, changes of %d, proofs %+v", r.Cases, r.Unproven, asked,
			r.Proofs)
	}
	failed := errors.New("no words")
	opts.Others = func(trace.Model, evaluate.Case) ([]evaluate.Change, error) { return nil, failed }
	_, err = evaluate.Run(t.Context(), choosing{letters{"R"}}, cases, opts)
	if !errors.Is(err, failed) {
		t.Errorf("error %v, want %v", err, failed)
	}
}

// ablations that are asked for later give what they give at once, the proof is not tried again, and
// a run without them has none.
func TestPairAblatedLater(t *testing.T) {
	opts := evaluate.Options{Methods: []string{"raw"}, Scoring: scorer.Options{Replacement: "delete"}}
	first, _, err := runPair(t, paired(), opts)
	must(t, err)
	opts.Ablations = 8
	_, want, err := runPair(t, paired(), opts)
	must(t, err)
	opts.Done = map[int]*evaluate.Result{0: first}
	opts.Others = func(trace.Model, evaluate.Case) ([]evaluate.Change, error) {
		return nil, errors.New("the proof is tried again")
	}
	again, got, err := runPair(t, paired(), opts)
	if err != nil || again == nil || again.Ablations != 8 {
		t.Fatalf("%+v, %v", again, err)
	}
	const measure = "drop of the top 3"
	a, ok := want.At("g", "raw", measure)
	b, _ := got.At("g", "raw", measure)
	if !ok || !reflect.DeepEqual(want.Table, got.Table) || a != b {
		t.Errorf("later %+v, at once %+v", got.Table, want.Table)
	}
	opts.Ablations = 0
	if _, without, err := runPair(t, paired(), opts); err != nil {
		t.Error(err)
	} else if _, ok := without.At("g", "raw", measure); ok {
		t.Error("a run without ablations has some")
	}
}

// A change outside of the prompt and an answer of several tokens are errors.
func TestPairRefusals(t *testing.T) {
	c := paired()
	c.Changes = append(c.Changes, evaluate.Change{Span: [2]int{5, 9}, Text: "x"})
	if _, _, err := runPair(t, c, evaluate.Options{Methods: []string{"raw"}}); err == nil ||
		!strings.Contains(err.Error(), "bytes 5 to 9 of a prompt of 6 bytes") {
		t.Errorf("error %v", err)
	}
	c = paired()
	c.Continuation = "RR"
	if _, _, err := runPair(t, c, evaluate.Options{Methods: []string{"raw"}}); err == nil ||
		!strings.Contains(err.Error(), "is one token") {
		t.Errorf("error %v", err)
	}
}

// Signed scores: what speaks against the prediction is no evidence for it, however large.
func TestPoint(t *testing.T) {
	for _, c := range []struct {
		name   string
		scores []float64
		cue    []bool
		k      int
		want   evaluate.Pointing
	}{
		{"first", []float64{3, 1, 0}, []bool{true, false, false}, 1, evaluate.Pointing{AveragePrecision: 1, Mass: .75, Top: 1, TopK: 1}},
		{"against", []float64{-3, 1, 0}, []bool{true, false, false}, 2, evaluate.Pointing{AveragePrecision: 1. / 3}},
		{"second", []float64{2, 3, -5}, []bool{true, false, false}, 2, evaluate.Pointing{AveragePrecision: .5, Mass: .4, TopK: 1}},
		{"two of four equal", []float64{1, 1, 1, 1}, []bool{true, true, false, false}, 2, evaluate.Pointing{AveragePrecision: 49. / 72, Mass: .5, Top: .5, TopK: 5. / 6}}, // (1 + 5/6 + 3/4 + 7/12 + 1/2 + 5/12) / 6
		{"none positive", []float64{-1, -2}, []bool{false, true}, 1, evaluate.Pointing{AveragePrecision: .5}},
		{"k of all", []float64{1, 2}, []bool{true, false}, 5, evaluate.Pointing{AveragePrecision: .5, Mass: 1. / 3, TopK: 1}},
	} {
		got := evaluate.Point(c.scores, c.cue, c.k)
		for _, d := range []float64{
			got.AveragePrecision - c.want.AveragePrecision, got.Mass - c.want.Mass,
			got.Top - c.want.Top, got.TopK - c.want.TopK,
		} {
			if !(math.Abs(d) < 1e-12) {
				t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
				break
			}
		}
	}
}
