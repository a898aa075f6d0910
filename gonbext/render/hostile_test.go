package render

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/testhelp/hostile"
)

// attacked returns an explanation every text of which is hostile, and how many texts it has.
func attacked(e *attribution.Explanation, r *rand.Rand) (*attribution.Explanation, int) {
	texts := 0
	text := func() string {
		texts++
		return hostile.Text(r)
	}
	for j := range e.Prompt.Texts {
		e.Prompt.Texts[j] = text()
	}
	e.Prompt.Text = strings.Join(e.Prompt.Texts, "")
	for t := range e.Steps {
		e.Steps[t].Text = text()
		for k := range e.Steps[t].Alternatives {
			e.Steps[t].Alternatives[k].Text = text()
		}
	}
	e.Model.Name, e.Model.Note, e.Model.Family = text(), text(), text()
	e.Model.Hash, e.Model.Backend = text(), text()
	e.Warnings = []string{text(), text()}
	for i, name := range e.Order {
		result, m := e.Methods[name], e.Maps[name]
		result.Unit = text()
		for option := range result.Options {
			result.Options[option] = text()
		}
		result.Options[text()] = text()
		result.Contrast, result.Explains = text(), trace.Quantity(text())
		e.Order[i] = text()
		e.Methods[e.Order[i]] = result
		if m != nil {
			m.Unit = text()
			e.Maps[e.Order[i]] = m
		}
	}
	return e, texts
}

// TestManyHostileTexts draws 10,000 hostile texts in each form of a picture: none leaves the text.
func TestManyHostileTexts(t *testing.T) {
	const seed = 7
	r := rand.New(rand.NewPCG(seed, seed))
	for drawn, round := 0, 0; drawn < 10_000; round++ {
		e := example()
		switch round % 4 {
		case 1:
			e = encoded(trace.MaskedToken)
		case 2:
			e = scoredExample()
		case 3:
			e = long(60)
		}
		e, n := attacked(e, r)
		drawn += n
		h := Heatmap{Explanation: e, Status: hostile.Text(r)}
		markup := written(t, h)
		survives(t, markup)
		for name, picture := range map[string]any{
			"text": asText(h),
			"page": asPage(h),
		} {
			checkPrintable(t, name, written(t, picture))
		}
		if t.Failed() {
			t.Fatalf("seed %d, round %d", seed, round)
		}
	}
}

// checkPrintable checks that no character of a picture acts by itself.
func checkPrintable(t *testing.T, name, s string) {
	t.Helper()
	for i, c := range s {
		if c != '\n' && !unicode.IsPrint(c) || c == unicode.ReplacementChar {
			t.Errorf("%s: rune %U at byte %d acts", name, c, i)
			return
		}
	}
}

// A token of a megabyte is cut everywhere and costs no time.
func TestHugeToken(t *testing.T) {
	e := example()
	e.Prompt.Texts[2] = strings.Repeat("<b>", 1<<20/3)
	e.Steps[1].Text = strings.Repeat("\u202e", 1<<20/3)
	for _, picture := range []any{
		Heatmap{Explanation: e}, asText(Heatmap{Explanation: e}),
	} {
		if got := written(t, picture); len(got) > 100_000 {
			t.Errorf("a picture of %d bytes has huge tokens", len(got))
		}
	}
}
