package evaluate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
)

// reader is a model of one layer whose last token attends to the letter that stands before each
// "!", and predicts by it: the probability is one half for each such letter that is left, as far as
// two.
type reader struct {
	name string
	flat bool // attends to everything alike
	tilt bool // attends a little more to the first of two
}

func (r reader) Info() trace.Info {
	return trace.Info{
		Name: r.name, Hash: r.name, Layers: 1, Heads: 1, Vocab: 128,
		Head: trace.NextToken,
	}
}

func (r reader) Encode(s string, _ trace.Specials) ([]trace.Token, error) {
	var tokens []trace.Token
	for i := range len(s) {
		tokens = append(tokens, trace.Token{ID: int(s[i]), Text: s[i : i+1], Begin: i, End: i + 1})
	}
	return tokens, nil
}

// marked returns the positions of the letters before "!".
func marked(ids []int) (at []int) {
	for i := range ids[:max(0, len(ids)-1)] {
		if ids[i+1] == '!' {
			at = append(at, i)
		}
	}
	return at
}

func (r reader) Steps(_ context.Context, ids []int, ask trace.Ask) iter.Seq2[trace.Step, error] {
	return func(yield func(trace.Step, error) bool) {
		T := len(ids)
		rows := trace.Rows{First: T - 1, L: 1, H: 1, N: 1, S: T, Data: make([]float32, T)}
		read := marked(ids)
		if r.flat || len(read) == 0 {
			read = []int{0, 1, 2}
		}
		for _, i := range read {
			rows.Data[i] = 1 / float32(len(read))
		}
		if r.tilt {
			rows.Data[read[0]] += .001
			rows.Data[read[1]] -= .001
		}
		token := trace.Token{ID: 'x', Text: "x"}
		if len(ask.Continuation) > 0 {
			token = trace.Token{ID: ask.Continuation[0], Text: string(rune(ask.Continuation[0]))}
		}
		p := &trace.Prediction{
			Token: token, Position: T - 1, Probability: .5,
			Alternatives: []trace.Alternative{{Token: trace.Token{ID: 'x'}, Probability: .5}},
		}
		if yield(trace.Step{
			Count: T, Rows: slices.Repeat([]trace.Rows{rows}, len(ask.Mixings)),
			Next: p,
		}, nil) && ask.MaxTokens > 1 {
			rows = trace.Rows{First: T, L: 1, H: 1, N: 1, S: T + 1, Data: make([]float32, T+1)}
			yield(trace.Step{First: T, Count: 1, Rows: slices.Repeat([]trace.Rows{rows},
				len(ask.Mixings)), Next: p}, nil)
		}
	}
}

func (r reader) Replacement(kind string) (int, bool) { return '_', kind == "mask" }

func (r reader) Predict(_ context.Context, queries []trace.Query) ([]float64, error) {
	var out []float64
	for _, q := range queries {
		n := 0
		for _, i := range marked(q.IDs) {
			if q.IDs[i] != '_' {
				n++
			}
		}
		out = append(out, min(1, float64(n)/2))
	}
	return out, nil
}

var cases = []evaluate.Case{
	{Group: "one", Prompt: "ab!cde", Evidence: [][2]int{{1, 2}}},
	{Group: "two", Prompt: "a!bcd!e", Continuation: "y", Evidence: [][2]int{{0, 1}, {4, 5}}},
}

var options = evaluate.Options{
	Methods: []string{"raw"}, Faithful: true, Beam: 4,
	References: []string{"occlusion"},
}

// The first of six tokens is left out, so chance is 1/5; where it is evidence, all seven are
// ranked.
func TestSkipFirst(t *testing.T) {
	opts := options
	opts.SkipFirst, opts.Ablations = true, 20
	opts.OnResult = func(r *evaluate.Result) error {
		if want := []int{1, 0}[r.Case]; r.Ranked[0] != want {
			t.Errorf("case %d ranks %v, want tokens from %d on", r.Case, r.Ranked, want)
		}
		return nil
	}
	report, err := evaluate.Run(t.Context(), reader{name: "r", flat: true}, cases, opts)
	must(t, err)
	for group, want := range map[string]float64{"one": 1. / 5, "two": 2. / 7} {
		if s, _ := report.At(group, "chance", "share on evidence"); math.Abs(s.Mean-want) > 1e-12 {
			t.Errorf("%s: chance has %v of the evidence, want %v", group, s.Mean, want)
		}
	}
	// attention is flat over the first three tokens, of which the second and third are left
	if s, _ := report.At("one", "raw", "rank"); s.Mean != 1.5 {
		t.Errorf("the evidence has rank %v among the tokens that are ranked, want 1.5", s.Mean)
	}
}

// A decoder's last token asks for the prediction: occlusion gives it most and does not
// rank it, unless it is evidence. raw has nothing on it, and ranks it with two other tokens.
func TestLastAsks(t *testing.T) {
	for _, c := range []struct {
		evaluate.Case
		occlusion, raw float64
	}{
		{evaluate.Case{Prompt: "acb!e?", Evidence: [][2]int{{2, 4}}}, 1.5, 2.5},
		{evaluate.Case{Prompt: "acbde?", Evidence: [][2]int{{5, 6}}}, 1, 5},
	} {
		report, err := evaluate.Run(t.Context(), asked{reader{name: "r"}},
			[]evaluate.Case{c.Case}, evaluate.Options{Methods: []string{"occlusion", "raw"}})
		must(t, err)
		for method, want := range map[string]float64{"occlusion": c.occlusion, "raw": c.raw} {
			if s, _ := report.At("", method, "rank"); s.Mean != want {
				t.Errorf("%s of %q: rank %v, want %v", method, c.Prompt, s.Mean, want)
			}
		}
	}
}

// asked is a reader that predicts nothing without the "?" at the end of a text, and less without
// another letter before "!".
type asked struct{ reader }

func (a asked) Predict(ctx context.Context, queries []trace.Query) ([]float64, error) {
	out, err := a.reader.Predict(ctx, queries)
	for i, q := range queries {
		if out[i] /= 4; q.IDs[len(q.IDs)-1] == '?' {
			out[i] += .5
		}
	}
	return out, err
}

func TestRun(t *testing.T) {
	report, err := evaluate.Run(t.Context(), reader{name: "r"}, cases, options)
	must(t, err)
	if diff := cmp.Diff([]string{"raw", "random", "earliest first", "latest first", "chance"},
		report.Methods); diff != "" || report.Cases != 2 || report.Chosen != 1 {
		t.Errorf("methods (-want +got):\n%s%d cases, %d chosen", diff, report.Cases, report.Chosen)
	}
	if diff := cmp.Diff([]string{"one", "two", "all"}, report.Groups); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	for _, c := range []struct {
		group, method, measure string
		want                   float64
	}{
		{"all", "raw", "average precision", 1},
		{"all", "raw", "share on evidence", 1},
		{"one", "raw", "rank", 1},
		{"two", "raw", "rank", 1.5},
		{"one", "chance", "share on evidence", 1. / 6},
		{"two", "chance", "rank", 4},
		{"all", "raw", "NAOPC", 1},
		{"one", "raw", "AOPC", .5},       // the evidence first, and then nothing is left to lose
		{"two", "raw", "AOPC", 1 - .5/7}, // half is left behind the first
		{"one", "raw", "comprehensiveness", .5},
		{"two", "raw", "comprehensiveness", (3*.5 + 2*1) / 5.}, // 20 % of 7 are 2 tokens
		{"one", "raw", "normalised comprehensiveness", 1},
	} {
		s, ok := report.At(c.group, c.method, c.measure)
		if !ok {
			t.Errorf("no %s of %s in %s", c.measure, c.method, c.group)
		}
		near(t, c.group+" "+c.method+" "+c.measure, s.Mean, c.want, 1e-12)
	}
	for _, measure := range []string{"average precision", "rank"} { // high is good, and low
		if got := report.Ranked(measure); len(got) != 5 || got[0] != "raw" {
			t.Errorf("ranked by %s %v; want raw first", measure, got)
		}
	}
	if got := report.Ranked("AOPC"); len(got) != 4 || report.Ranked("beauty") != nil {
		t.Errorf("ranked by AOPC %v; chance has none, and nobody has what is not measured", got)
	}
	near(t, "agreement with itself", report.Agreement.Spearman[0][0].Mean, 1, 1e-12)
	// The "!" matters as much as what stands before it: ranks of one in six against two in six, and
	// two in seven against four.
	s, _ := report.At("all", "raw", "correlation with occlusion")
	near(t, "correlation with occlusion", s.Mean, (math.Sqrt(.4)+math.Sqrt(.3))/2, 1e-12)
}

// A group with the name of all groups would have their numbers.
func TestRunGroupNamedAll(t *testing.T) {
	named := slices.Clone(cases)
	named[1].Group = "all"
	const want = `case 1 of 2: a group is named "all"`
	report, err := evaluate.Run(t.Context(), reader{name: "r"}, named, options)
	if err == nil || !strings.Contains(err.Error(), want) || report == nil || report.Cases != 0 {
		t.Errorf("error %v, want %q and no cases", err, want)
	}
	_, err = evaluate.AlignLayers(t.Context(), reader{name: "r"}, named, evaluate.CurveOptions{})
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("curves: error %v, want %q", err, want)
	}
	report, err = evaluate.Run(t.Context(), reader{name: "r"}, named[1:], options)
	if err != nil || !slices.Equal(report.Groups, []string{"all"}) {
		t.Errorf("the only group: %v, error %v", report.Groups, err)
	}
}

// predicting is a model whose predictions do not depend on the text.
type predicting struct{ *fakemodel.Model }

func (predicting) Predict(_ context.Context, queries []trace.Query) ([]float64, error) {
	return make([]float64, len(queries)), nil
}

// The name of several methods stands for them, each once.
func TestRunClassic(t *testing.T) {
	one := []evaluate.Case{{
		Prompt: "w1 w2 w3 w4", Continuation: "w5", Evidence: [][2]int{{3, 5}},
	}}
	three := []string{"value-zeroing", "rollout", "flow"}
	report, err := evaluate.Run(t.Context(), predicting{layered()}, one, evaluate.Options{
		Methods:    []string{"value-zeroing", attribution.Classic},
		References: []string{attribution.Classic},
	})
	must(t, err)
	want := append(slices.Clone(three), "random", "earliest first", "latest first", "chance")
	if !slices.Equal(report.Methods, want) {
		t.Errorf("methods %v, want %v", report.Methods, want)
	}
	for _, name := range three {
		if _, ok := report.At("", "rollout", "correlation with "+name); !ok {
			t.Errorf("no correlation with %s", name)
		}
	}
	curves := aligned(t, layered(), one, evaluate.CurveOptions{
		Methods: []string{attribution.Classic},
	})
	if n := len(curves.Curves); n != 3 {
		t.Errorf("%d curves, want 3", n)
	}
}

// A run that was stopped goes on where it was, and ends with the same report.
func TestRunResumes(t *testing.T) {
	whole, err := evaluate.Run(t.Context(), reader{name: "r"}, cases, options)
	must(t, err)
	opts := options
	var lines []byte
	stop := errors.New("the disk is full")
	opts.OnResult = func(r *evaluate.Result) (err error) {
		if lines, err = json.Marshal(r); err == nil {
			err = stop
		}
		return err
	}
	if part, err := evaluate.Run(t.Context(), reader{name: "r"}, cases,
		opts); !errors.Is(err, stop) || part.Cases != 0 {
		t.Errorf("error %v, %d cases", err, part.Cases)
	}
	var first evaluate.Result
	must(t, json.Unmarshal(lines, &first))
	fresh := 0
	opts.Done, opts.OnResult = map[int]*evaluate.Result{0: &first}, func(*evaluate.Result) error {
		fresh++
		return nil
	}
	rest, err := evaluate.Run(t.Context(), reader{name: "r"}, cases, opts)
	if err != nil || fresh != 1 {
		t.Errorf("error %v, %d cases computed", err, fresh)
	}
	a, _ := json.Marshal(whole)
	b, _ := json.Marshal(rest)
	if diff := cmp.Diff(string(a), string(b)); diff != "" {
		t.Errorf("resumed (-whole +resumed):\n%s", diff)
	}
}

// Attention that is the same with other weights agrees with itself; attention that is not does not.
func TestRandomize(t *testing.T) {
	got, err := evaluate.Randomize(t.Context(), reader{name: "a"}, reader{name: "b"}, cases,
		evaluate.Options{Methods: []string{"raw"}})
	must(t, err)
	near(t, "same", got["raw"].Mean, 1, 1e-12)
	got, err = evaluate.Randomize(t.Context(), reader{name: "a"}, reader{name: "b", flat: true},
		cases, evaluate.Options{Methods: []string{"raw"}})
	if err != nil || got["raw"].Mean > .5 || got["random"].Mean > .99 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := evaluate.Randomize(t.Context(), reader{name: "a"}, reader{name: "a"}, cases,
		evaluate.Options{}); err == nil {
		t.Error("one model twice gives no error")
	}
}

// Scores that are near each other share their rank if that is asked for.
func TestRunTies(t *testing.T) {
	second := []evaluate.Case{{Prompt: "ab!cd!e", Evidence: [][2]int{{4, 5}}}} // d, behind b
	all := 0.
	for rank := 1.; rank <= 7; rank++ {
		all += 1 / rank / 7
	}
	for ties, want := range map[float64]float64{
		0: 1. / 2, .001: 1. / 2, .01: (1 + 1./2) / 2,
		1: all,
	} {
		report, err := evaluate.Run(t.Context(), reader{name: "r", tilt: true}, second,
			evaluate.Options{Methods: []string{"raw"}, Ties: ties})
		must(t, err)
		s, _ := report.At("", "raw", "average precision")
		near(t, fmt.Sprint("average precision with ties of ", ties), s.Mean, want, 1e-12)
	}
}

func TestRunRefusals(t *testing.T) {
	for want, c := range map[string]struct {
		c    evaluate.Case
		opts evaluate.Options
	}{
		"case 0 of 1: attribution: the prompt is empty": {},
		"case 0 of 1 (line 7): evidence, number 1: bytes 7 to 9 of a prompt of 3 bytes": {
			c: evaluate.Case{Prompt: "abc", Evidence: [][2]int{{7, 9}}, Source: "line 7"},
		},
		"2 predictions are explained, want one": {c: evaluate.Case{Prompt: "abc", Continuation: "de"}},
		"unknown method":                        {c: evaluate.Case{Prompt: "abc"}, opts: evaluate.Options{Methods: []string{"best"}}},
	} {
		if c.opts.Methods == nil {
			c.opts.Methods = []string{"raw"}
		}
		if _, err := evaluate.Run(t.Context(), reader{name: "r"}, []evaluate.Case{c.c},
			c.opts); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	for want, opts := range map[string]evaluate.Options{
		"draws -3":     {Draws: -3},
		"beam -1":      {Beam: -1},
		"ablations -2": {Ablations: -2},
		"limit -1":     {Limit: -1},
		"least NaN":    {Least: math.NaN()},
		"least -1":     {Least: -1},
		"ties NaN":     {Ties: math.NaN()},
		"ties -1":      {Ties: -1},
		"ties +Inf":    {Ties: math.Inf(1)},
	} {
		_, err := evaluate.Run(t.Context(), reader{name: "r"}, cases, opts)
		if !errors.Is(err, trace.ErrUsage) ||
			err.Error() != "evaluate: "+want+"; it must be finite and 0 or more" {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := evaluate.Run(ctx, reader{name: "r"}, cases, options)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that it was cancelled", err)
	}
}

var _ trace.Predictor = reader{}
