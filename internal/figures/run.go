package figures

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
	"github.com/headwater-ml/headwater/internal/reproduction"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// run is one making of a figure.
type run struct {
	ctx  context.Context
	m    trace.Model
	info trace.Info
	o    Options
	// chosen are the choices of the figure, by name.
	chosen map[string]int
	out    *reproduction.Reproduction
}

// toy reports whether the model knows a toy grammar alone, so that prompts are taken from it.
func (r *run) toy() bool {
	l, ok := r.m.(trace.Limited)
	return ok && len(l.Examples()) > 0
}

// prompt returns the prompt for a model of the toy grammar or the one for a language model.
func (r *run) prompt(toy, language string) string {
	if r.toy() {
		return toy
	}
	return language
}

// progress reports how far a long figure is.
func (r *run) progress(stage, unit string, done, total int) {
	if r.o.Progress != nil {
		r.o.Progress(trace.Progress{
			Stage: r.out.ID + ": " + stage, Unit: unit, Done: done,
			Total: total,
		})
	}
}

// picture adds a picture of charts, columns of them side by side.
func (r *run) picture(name string, columns int, charts ...chart.Chart) {
	r.out.Pictures = append(r.out.Pictures, reproduction.Picture{
		Name: name, Columns: columns, Charts: charts,
	})
}

// table adds a table.
func (r *run) table(t reproduction.Table) { r.out.Tables = append(r.out.Tables, t) }

// note adds a remark.
func (r *run) note(format string, args ...any) {
	r.out.Notes = append(r.out.Notes, fmt.Sprintf(format, args...))
}

// claim is a claim of a document that a figure checks.
type claim struct{ id, text string }

// near checks that a number is within a tolerance of the stated one.
func (r *run) near(c claim, want, tolerance, got float64) {
	r.check(c, fmt.Sprintf("%s ± %s", short(want), short(tolerance)), short(got),
		math.Abs(got-want) <= tolerance)
}

// zero checks that a difference is rounding alone. What came out is written only if it is more,
// because the last digits differ from machine to machine.
func (r *run) zero(c claim, tolerance, got float64) {
	found := "at most " + short(tolerance)
	if !(math.Abs(got) <= tolerance) {
		found = short(got)
	}
	r.check(c, "0 ± "+short(tolerance), found, math.Abs(got) <= tolerance)
}

// above checks that a number is greater than another one; what names the second.
func (r *run) above(c claim, got, than float64, what string) {
	r.check(c, "above "+what, against(got, than), got > than)
}

// against writes two numbers with three digits, or with as many as tell them apart.
func against(a, b float64) string {
	x, y := short(a), short(b)
	for digits := 4; x == y && digits <= 6; digits++ {
		x, y = strconv.FormatFloat(a, 'g', digits, 64), strconv.FormatFloat(b, 'g', digits, 64)
	}
	return x + " against " + y
}

// check adds a check.
func (r *run) check(c claim, stated, found string, agrees bool) {
	verdict := reproduction.Differs
	if agrees {
		verdict = reproduction.Agrees
	}
	r.out.Checks = append(r.out.Checks, reproduction.Check{
		ID: c.id, Claim: c.text, Stated: stated, Found: found, Verdict: verdict,
	})
}

// short writes a number with three digits.
func short(v float64) string {
	if math.Abs(v) < 5e-13 {
		v = 0 // rounding, whose last digits differ from machine to machine
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// names returns tokens as the names of rows and columns.
func names(texts []string) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		if len(t) > 1 && t[0] == ' ' {
			t = strings.TrimPrefix(t, " ")
		}
		out[i] = render.Visible(t, 24)
	}
	return out
}

// levels returns the names of L layers, from 0.
func levels(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = strconv.Itoa(i)
	}
	return out
}

// count returns 0, 1, … n-1.
func count(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(i)
	}
	return out
}

// mean returns the mean, NaN if there are no numbers.
func mean(x []float64) float64 { return rowmath.Total(x) / float64(len(x)) }
