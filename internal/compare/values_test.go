package compare_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/compare"
	"github.com/headwater-ml/headwater/internal/testhelp"
)

// of returns an explanation of "<s> a b c" with one method that has the same row for each generated
// token.
func of(quantity attribution.Quantity, unit string, answer []string, row ...float64,
) *attribution.Explanation {
	e := explanation([]string{"<s>", "a", " b", " c"}, answer,
		slices.Repeat([][]float64{row}, len(answer))...)
	e.Methods["raw"].Facts = attribution.Facts{Quantity: quantity}
	e.Methods["raw"].Unit = unit
	return e
}

func compared(t *testing.T, a, b *attribution.Explanation) *compare.Comparison {
	t.Helper()
	c, err := compare.New(compare.Side{Explanation: a}, compare.Side{Explanation: b})
	must(t, err)
	return c
}

var must = testhelp.Must // ends a test at an error

// TestNew has rows A, B and A − B worked out by hand.
func TestNew(t *testing.T) {
	const share, amount, lift = attribution.Share, attribution.Amount, attribution.Lift
	x := []string{" x"}
	for _, c := range []struct {
		name, reason string
		a, b         *attribution.Explanation
		want         [3][]float64
		unit         string
		divided      bool
		sizes        bool
	}{
		{
			name: "shares",
			a:    of(share, "share", x, 0, 0.5, 0.3, 0.2),
			b:    of(share, "share", x, 0, 0.1, 0.3, 0.6),
			want: [3][]float64{{0, 0.5, 0.3, 0.2}, {0, 0.1, 0.3, 0.6}, {0, 0.4, 0, -0.4}},
			unit: "share in A minus share in B",
		},
		{
			name: "amounts of one unit", reason: "they are subtracted as they are",
			a: of(amount, "logit", x, 0, 2, -1, 1), b: of(amount, "logit", x, 0, 1, 1, 1),
			want: [3][]float64{{0, 2, -1, 1}, {0, 1, 1, 1}, {0, 1, -2, 0}},
			unit: "logit in A minus that in B",
		},
		{
			name: "lifts", reason: "the difference of ratios is their ratio",
			a: of(lift, "lift", x, 1, 8, 4, 1), b: of(lift, "lift", x, 1, 2, 8, 1),
			want: [3][]float64{{1, 8, 4, 1}, {1, 2, 8, 1}, {1, 4, 0.5, 1}},
			unit: "lift of A divided by lift of B",
		},
		{
			name: "units", reason: "each row is divided by its sizes: 8 and 4",
			a: of(amount, "logit", x, 0, 4, -2, 2), b: of(amount, "nats", x, 0, -1, 1, 2),
			want: [3][]float64{
				{0, 0.5, -0.25, 0.25}, {0, -0.25, 0.25, 0.5}, {0, 0.75, -0.5, -0.25},
			},
			unit: "share in A minus share in B", divided: true,
		},
		{
			name: "signs", reason: "of A alone; sizes are 0.5 .25 .25 and, without <s>, .25 .25 .5",
			a: of(amount, "logit", x, 0, 4, -2, 2), b: of(share, "share", x, 0.6, 0.1, 0.1, 0.2),
			want: [3][]float64{
				{0, 0.5, -0.25, 0.25}, {1.5, 0.25, 0.25, 0.5}, {-1.5, 0.25, 0, -0.25},
			},
			unit: "share of the sizes in A minus that in B", divided: true, sizes: true,
		},
	} {
		got := compared(t, c.a, c.b)
		for i, want := range c.want {
			diff := cmp.Diff(want, got.Results[i].Row(0, 0), cmpopts.EquateApprox(0, 1e-12))
			if diff != "" {
				t.Errorf("%s: row %d (%s, -want +got):\n%s", c.name, i, c.reason, diff)
			}
		}
		if got.Results[2].Unit != c.unit || got.Divided != c.divided || got.Sizes != c.sizes {
			t.Errorf("%s: unit %q, divided %t, sizes %t", c.name, got.Results[2].Unit, got.Divided,
				got.Sizes)
		}
		if c.sizes && got.Signed != 0 {
			t.Errorf("%s: side %d has signs, want A", c.name, got.Signed)
		}
	}
}

// TestAgree: of the sources a, b and c, which have ranks 3 2 1 in A and 1 2 3 in B, the correlation
// is -1; over b and c of rows with equal ranks it is 1; one source alone has none.
func TestAgree(t *testing.T) {
	answer := []string{" x", " y", " z"}
	c := compared(t, of(attribution.Share, "share", answer, 0, 0.5, 0.3, 0.2),
		of(attribution.Share, "share", answer, 0, 0.29, 0.295, 0.415))
	c.Results[1].Rows[1] = []float64{0, 0, 0.9, 0.1}
	got := c.Agree(func(t int) []int { return [][]int{{1, 2, 3}, {2, 3}, {1}}[t] })
	want := compare.Agreements{
		Rows: []compare.Agreement{
			{Correlation: -1}, {Correlation: 1, Same: true},
			{Correlation: math.NaN(), Same: true},
		},
		Correlated: 2, Mean: 0, Low: -1, High: 1, Same: 2,
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("agreement (-want +got):\n%s", diff)
	}
	// A source for the token in A and against it in B is not the same.
	c.Results[0].Rows[0], c.Results[1].Rows[0] = []float64{0, 2, 1, 1}, []float64{0, -2, 1, 1}
	if c.Agree(func(int) []int { return []int{1, 2, 3} }).Rows[0].Same {
		t.Error("a source for and against is called the same")
	}
}

// TestDifference: rows end with the first token that is not the same, and A − B before it.
func TestDifference(t *testing.T) {
	for _, c := range []struct {
		name     string
		a, b     []string
		rows     int // of the sides
		compared int // of the difference
		want     *compare.Unequal
	}{
		{"equal", []string{" is", " old"}, []string{" is", " old"}, 2, 2, nil},
		{"shorter", []string{" is", " old"}, []string{" is"}, 1, 1, nil},
		{
			"first", []string{" is", " old"}, []string{" are", " old"}, 1, 0,
			&compare.Unequal{
				Texts: [2]string{" is", " are"}, Answers: [2]string{" is", " are"},
			},
		},
		{
			"later", []string{" is", " old", "."}, []string{" is", " new", "."}, 2, 1,
			&compare.Unequal{
				Row: 1, Texts: [2]string{" old", " new"}, Answers: [2]string{" is old", " is new"},
			},
		},
		{"other tokens", []string{" do", "wn", "."}, []string{" down", "."}, 2, 2, nil},
		{"the space before an answer", []string{" is", " old"}, []string{"is", " old"}, 2, 2, nil},
		{
			"the beginning of another word", []string{" a", " cat"}, []string{" are", " old"}, 1, 0,
			&compare.Unequal{Texts: [2]string{" a", " are"}, Answers: [2]string{" a", " are"}},
		},
		{
			"between rows", []string{" do", "wnstairs", "."}, []string{" down", " the"}, 1, 1,
			&compare.Unequal{
				Row: 1, Texts: [2]string{"wnstairs", " the"},
				Answers: [2]string{" downstairs", " down the"},
			},
		},
	} {
		row := []float64{0, 0.5, 0.3, 0.2}
		a := of(attribution.Share, "share", c.a, row...)
		b := of(attribution.Share, "share", c.b, row...)
		b.Prompt.Text = "another prompt"
		got := compared(t, a, b)
		if diff := cmp.Diff(c.want, got.Aligned.Difference); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		for i, want := range []int{c.rows, c.rows, c.compared} {
			if n := got.Results[i].Shape[0]; n != want || len(got.Results[i].Rows) != want {
				t.Errorf("%s: result %d has %d rows, want %d", c.name, i, n, want)
			}
		}
	}
}

// TestOwnSources: rows that are left out at the end take no values of generated tokens with them.
func TestOwnSources(t *testing.T) {
	var sides [2]*attribution.Explanation
	for i, last := range []string{" old", " new"} {
		sides[i] = explanation([]string{"a", " b"}, []string{" is", last, "."},
			[]float64{0.5, 0.5}, []float64{0.25, 0.25, 0.5}, []float64{0, 0, 0, 1})
		sides[i].Prompt.Text += last
	}
	c := compared(t, sides[0], sides[1])
	if got := c.Results[0].Rows; len(got) != 2 || !slices.Equal(got[1], []float64{0.25, 0.25, 0.5}) {
		t.Errorf("the rows %v, want two with the generated token of the second", got)
	}
}

func TestParseSide(t *testing.T) {
	for text, want := range map[string]string{
		"flow": "flow", "alti+layer@0": "alti+layer@0", "a@b@3": "a@b@3", "flow@+2": "flow@2",
	} {
		if s, err := compare.ParseSide(text); err != nil || s.String() != want {
			t.Errorf("%s is %q, %v, want %q", text, s.String(), err, want)
		}
	}
	for _, text := range []string{"flow@", "flow@x", "flow@-1", "@3", "flow@99999999999999999999"} {
		if s, err := compare.ParseSide(text); !errors.Is(err, trace.ErrUsage) ||
			!strings.Contains(err.Error(), "not a method and its layer") {
			t.Errorf("%s is %q, %v, want a usage error", text, s.String(), err)
		}
	}
}
