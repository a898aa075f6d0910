package focus_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/focus"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// Every error names the tensor, what it has and what is needed.
func TestRefusals(t *testing.T) {
	ones := func(name string, shape ...int) trace.Tensor {
		return filled(name, shape, func([]int) float64 { return 1 })
	}
	identity := func(name string, shape ...int) trace.Tensor {
		n := len(shape)
		return filled(name, shape, func(at []int) float64 {
			if at[n-2] == at[n-1] {
				return 1
			}
			return 0
		})
	}
	spoilt := func(t trace.Tensor, at int, x float64) trace.Tensor {
		t.Data[at] = float32(x)
		return t
	}
	short := ones("terms", 3, 2, 2)
	short.Data = short.Data[:11]
	for _, c := range []struct {
		name    string
		tensors []trace.Tensor
		opts    focus.Options
		want    string
	}{
		{"nothing", nil, focus.Options{}, `focus: the input needs one of the tensors terms ` +
			`[L,H,3,T,S], scores [L,H,T,S] and attention [L,H,T,S]; it has none`},
		{"others", []trace.Tensor{ones("logits", 2, 2), ones("hidden", 2, 2)}, focus.Options{}, `it has "logits", "hidden"`},
		{
			"rank",
			[]trace.Tensor{ones("terms", 1, 3, 2, 2)},
			focus.Options{},
			`focus: tensor "terms" has shape [1 3 2 2]; want [L,H,3,T,S] or [3,T,S] for one head`,
		},
		{"rank of attention", []trace.Tensor{ones("attention", 2)}, focus.Options{}, `want [L,H,T,S] or [L,T,S], [T,S] for one head`},
		{
			"two terms",
			[]trace.Tensor{ones("terms", 2, 2, 2)},
			focus.Options{},
			`want 3 terms, content, query-bias and alibi, on axis 0 of [L,H,3,T,S]`,
		},
		{"numbers", []trace.Tensor{short}, focus.Options{}, `it has 11 numbers; want positive`},
		{"a size of 0", []trace.Tensor{{Name: "attention", Shape: []int{0, 2}}}, focus.Options{}, `it has 0 numbers; want positive sizes`},
		{"a size that overflows", []trace.Tensor{{
			Name: "attention", Shape: []int{1 << 62, 4}, Data: make([]float32, 4),
		}}, focus.Options{}, `it has 4 numbers; want positive sizes`},
		{
			"other tokens",
			[]trace.Tensor{ones("terms", 3, 2, 2), identity("attention", 3, 3)},
			focus.Options{},
			`focus: tensor "attention" has shape [3 3]; want [L,H,T,S] with ` +
				`T = 2, as in terms`,
		},
		{"other layers", []trace.Tensor{
			identity("attention", 1, 1, 2, 2), ones("hidden", 3, 2, 4),
		}, focus.Options{}, `tensor "hidden" has shape [3 2 4]; want [L,T,D] with L = 1, as in ` +
			`attention`},
		{"more targets", []trace.Tensor{ones("terms", 3, 3, 2)}, focus.Options{}, `3 targets and 2 sources`},
		{
			"rows of a bidirectional text",
			[]trace.Tensor{ones("terms", 3, 1, 2)},
			focus.Options{Bidirectional: true},
			`1 targets and 2 sources; want as many`,
		},
		{"some rows that look ahead", []trace.Tensor{
			tensor("attention", []int{2, 3}, .2, .3, .5, 1, 0, 0),
		}, focus.Options{}, `a bidirectional text needs all rows`},
		{
			"a sum",
			[]trace.Tensor{tensor("attention", []int{1, 2, 2, 2}, 1, 0, 0, 1, 1, 0, .5, .6)},
			focus.Options{},
			`tensor "attention": layer 0 head 1 row 1 sums to 1.1; want 1 within`,
		},
		{"scores without sinks", []trace.Tensor{ones("scores", 2, 2)}, focus.Options{Sinks: true}, `record the tensor attention`},
		{
			"a negative number",
			[]trace.Tensor{tensor("attention", []int{2, 2}, 1, 0, -.5, 1.5)},
			focus.Options{},
			`row 1 column 0 is -0.5; want a number of 0 or more`,
		},
		{"NaN in attention", []trace.Tensor{spoilt(identity("attention", 2, 2), 2, math.NaN())}, focus.Options{}, `row 1 column 0 is NaN`},
		{"infinite hidden", []trace.Tensor{
			identity("attention", 2, 2), spoilt(ones("hidden", 2, 3), 4, math.Inf(1)),
		}, focus.Options{}, `tensor "hidden": number 4 is +Inf; want finite numbers`},
		{
			"NaN in a seen term",
			[]trace.Tensor{spoilt(ones("terms", 3, 2, 2), 6, math.NaN())},
			focus.Options{},
			`tensor "terms": row 3 column 0 is NaN; want finite numbers where the ` +
				`target sees the source`,
		},
		{
			"a row without a source",
			[]trace.Tensor{tensor("scores", []int{2, 2}, 1, 0, math.Inf(-1), math.Inf(-1))},
			focus.Options{},
			`tensor "scores": row 1 is -Inf at every source that the target may see`,
		},
		{
			"an infinite score",
			[]trace.Tensor{tensor("scores", []int{2, 2}, 1, 0, math.Inf(1), 0)},
			focus.Options{},
			`tensor "scores": row 1 column 0 is +Inf; want finite numbers, or -Inf where the ` +
				`target does not see the source`,
		},
		{
			"a term of -Inf",
			[]trace.Tensor{spoilt(ones("terms", 3, 2, 2), 2, math.Inf(-1))},
			focus.Options{},
			`tensor "terms": row 1 column 0 is -Inf; want finite numbers where the target sees`,
		},
	} {
		_, err := focus.New(c.tensors, c.opts)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	// What a target does not see may be anything in terms and scores.
	unseen := spoilt(ones("terms", 3, 2, 2), 1, math.Inf(-1))
	if _, err := focus.New([]trace.Tensor{unseen}, focus.Options{}); err != nil {
		t.Errorf("an unseen -Inf: %v", err)
	}
}

// Each quantity names what it needs, and what does not exist is wrong usage.
func TestMissing(t *testing.T) {
	rows := text(t, tensor("attention", []int{1, 2}, .5, .5),
		tensor("hidden", []int{1, 2}, 1, 1), tensor("head-output", []int{1, 2}, 1, 1),
		tensor("value-output", []int{2, 2}, 1, 1, 1, 1))
	bare := text(t, tensor("attention", []int{2, 2}, 1, 0, .5, .5))
	stream := text(t, tensor("attention", []int{2, 2}, 1, 0, .5, .5),
		tensor("hidden", []int{2, 1}, 1, 1), tensor("value", []int{2, 1}, 1, 1))
	errOf := func(_ any, err error) error { return err }
	for _, c := range []struct {
		name  string
		err   error
		usage bool
		want  string
	}{
		{
			"hidden", errOf(bare.Updates(0, 0, focus.UpdateOptions{})), false,
			"focus: the update of a head needs hidden [L,T,D]; the input has attention",
		},
		{
			"weights", errOf(stream.Updates(0, 0, focus.UpdateOptions{})), false,
			"needs head-added [L,H,T,D], or head-output [L,H,T,D], or context [L,H,T,E] and " +
				"output-weight [L,H,E,D], or value [L,H,S,E] and output-weight [L,H,E,D]; the " +
				"input has attention, value, hidden",
		},
		{
			"values", errOf(stream.Effects(0, 0)), false,
			"focus: the effect of a token needs value-output [L,H,S,D], or value [L,H,S,E] and " +
				"output-weight [L,H,E,D]",
		},
		{"all rows", errOf(rows.Updates(0, 0, focus.UpdateOptions{})), true, "there are 1 targets and 2 sources"},
		{"all rows of effects", errOf(rows.Effects(0, 0)), true, "1 targets and 2 sources"},
		{"layer", errOf(bare.Head(1, 0)), true, "focus: layer 1; there are 1"},
		{"head", errOf(bare.Head(0, 1)), true, "focus: head 1; there are 1"},
		{"negative", errOf(bare.Head(0, -2)), true, "focus: head -2"},
		{"head of a measure", errOf(bare.Measure(focus.Concentration, 0, 7)), true, "head 7"},
		{"quantity", errOf(bare.Measure("self", 0, 0)), true, `unknown quantity "self"`},
		{"quantity of lines", (&focus.Lines{}).Add(bare), true, `unknown quantity ""`},
		{
			"index", errOf(stream.Updates(0, 0, focus.UpdateOptions{Index: "source"})), true,
			`unknown index "source"; known are current, target`,
		},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, c.err, c.want)
		}
		if errors.Is(c.err, trace.ErrUsage) != c.usage {
			t.Errorf("%s: wrong usage is %v, want %v", c.name, !c.usage, c.usage)
		}
	}
	withTerms := head(t, text(t, tensor("terms", []int{3, 1, 1}, 1, 2, 3)), 0, 0)
	if _, err := withTerms.Breakdown(0); err == nil || !strings.Contains(err.Error(), "0 ranks") {
		t.Errorf("no ranks: %v", err)
	}
}
