package render

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
)

// TestOnFirst: a scorer's row says how much of its sizes the first token has, by hand; no other row
// does.
func TestOnFirst(t *testing.T) {
	e := scoredExample()
	setGenerated(e.Methods["parts"], nil, []float64{-2.5}, []float64{1, 0})
	p := Heatmap{Explanation: e, Methods: []string{"parts", "small", "rollout"}}.picture(true)
	// |base| = 1.5 0.25 4 0.002 0 0.5 3.25, whose sum is 9.502; row t begins 2t places later.
	for _, c := range []struct {
		view, row int
		want      string
	}{
		{0, 0, "first token <bos> -1.50, 15.8 % of the sizes of the row"}, // 1.5 / 9.502
		{0, 1, "first token <bos> +4.00, 33.3 % of the sizes of the row"}, // 4 / (9.502 + 2.5)
		{0, 2, "first token <bos> 0.00, 0.0 % of the sizes of the row"},   // 0 / 10.502
		{1, 0, "first token <bos> -0.0015, 15.8 % of the sizes of the row"},
		{1, 1, ""}, // the values of its generated tokens are not known
		{2, 0, ""}, // shares have a line of their own
	} {
		if got := p.onFirst(&p.views[c.view], c.row); got != c.want {
			t.Errorf("%s, row %d: %q, want %q", p.views[c.view].name, c.row, got, c.want)
		}
	}
	for _, picture := range []string{
		written(t, asText(Heatmap{Explanation: e}, Terminal{Width: 200})),
		written(t, Heatmap{Explanation: e}),
	} {
		if n := strings.Count(picture, "33.3 % of the sizes of the row"); n != 1 {
			t.Errorf("the line of the second row is there %d times, want once:\n%s", n, picture)
		}
	}
}

// TestOnFirstUnknown: where there is nothing to compare with, nothing is said.
func TestOnFirstUnknown(t *testing.T) {
	for name, change := range map[string]func(*attribution.Explanation){
		"all zero": func(e *attribution.Explanation) { clear(e.Methods["parts"].Rows[0]) },
		"NaN":      func(e *attribution.Explanation) { e.Methods["parts"].Rows[0][3] = math.NaN() },
		"infinite": func(e *attribution.Explanation) { e.Methods["parts"].Rows[0][3] = math.Inf(1) },
		"encoder":  func(e *attribution.Explanation) { e.Model.Bidirectional = true },
	} {
		e := scoredExample()
		change(e)
		p := Heatmap{Explanation: e, Methods: []string{"parts"}}.picture(true)
		if got := p.onFirst(&p.views[0], 0); got != "" {
			t.Errorf("%s: it says %q, want nothing", name, got)
		}
	}
}

// TestRowSink: a first token with most of one row is grey in that row alone, and out of the scale;
// the sentence, the parts and the silence of the row say so. With less, it is named for what it is.
func TestRowSink(t *testing.T) {
	shares := func(rows ...[]float64) *attribution.Explanation {
		e := farApart(3, 1)
		e.Prompt.Texts = []string{"The", " capital", " Italy"}
		r := e.Methods["raw"]
		r.Shape, r.Shown, r.Rows = [3]int{len(rows), 3, 1}, make([]int, len(rows)), rows
		r.AddsUp = true
		e.Steps, r.OtherMass = nil, make([]float64, len(rows))
		for range rows {
			e.Steps = append(e.Steps, attribution.GeneratedToken{Text: " Rome"})
		}
		return e
	}
	even := []float64{.1, .5, .4}
	p := Heatmap{Explanation: shares([]float64{.9, .02, .08}, even, even)}.picture(true)
	v := &p.views[0]
	if got := said(p, v, 0); got != "Rome came from Italy | Italy 8.0 % · "+
		"share of attention · layer 0 · 90.0 % rests on “The”, a sink in this row" {
		t.Errorf("the sentence says %q", got)
	}
	for row, want := range []bool{true, false, false} {
		if got := p.grey(v, row, 0); got != want {
			t.Errorf("row %d: that the first token is grey is %t, want %t", row, got, want)
		}
	}
	if v.colors.limit != .5 {
		t.Errorf("colours end at %v, want .5, without the sink", v.colors.limit)
	}
	if _, parts := p.describeParts(v, 0, 0); parts[0] != "sink The 90.0 %" {
		t.Errorf("parts %q", parts)
	}
	var d heatmapData
	scriptOf(t, written(t, Heatmap{Explanation: p.e}), &d)
	if got := d.Methods[0].Sinks; !slices.Equal(got, []int{0, -1, -1}) {
		t.Errorf("the script knows the sinks %v of the rows", got)
	}

	p = Heatmap{Explanation: shares([]float64{.45, .35, .2}, even, even)}.picture(true)
	if got := said(p, &p.views[0], 0); !strings.HasPrefix(got, "Rome came from capital | ") {
		t.Errorf("the sentence says %q", got)
	}
	if got := said(p, &p.views[0], 1); strings.Contains(got, "often rests") {
		t.Errorf("the first token is not the largest of row 1: %q", got)
	}

	p = Heatmap{Explanation: shares([]float64{.995, .003, .002}, even, even)}.picture(true)
	const silent = `raw says nothing about Rome: 99.5 % of the row rests on the sink "The"`
	if got := said(p, &p.views[0], 0); !strings.HasPrefix(got, silent) {
		t.Errorf("the sentence says %q", got)
	}
}
