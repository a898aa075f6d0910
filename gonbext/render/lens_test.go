package render

import (
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/study/lens"
)

// lensSays returns a lens of example's seven rows: the tokens from the input up, each with a
// probability of 0.5 and the rank of the token that came.
func lensSays(tokens string, came string, ranks ...int) lens.Layers {
	var layers lens.Layers
	for i, text := range strings.Fields(tokens) {
		one := lens.Layer{Rank: ranks[i], Probability: 0.1}
		one.Likely = []attribution.Alternative{{ID: 100 + i, Text: " " + text, Probability: 0.5}}
		if " "+text == came {
			one.Likely[0].ID, one.Probability = 10, 0.5
		}
		layers = append(layers, one)
	}
	return layers
}

// lensed is example with a lens: the first token comes late, the second is never first at the end,
// and the third is first from the input on.
func lensed() *attribution.Explanation {
	e := example()
	for t := range e.Steps {
		e.Steps[t].ID = 10
	}
	e.Steps[0].Studies.Set(lens.Name,
		new(lensSays("the the cab is is are are", " are", 400, 300, 20, 9, 2, 1, 1)))
	e.Steps[1].Studies.Set(lens.Name,
		new(lensSays("<b> the the the here old old", " here", 50, 3, 9, 4, 1, 2, 2)))
	e.Steps[2].Studies.Set(lens.Name,
		new(lensSays(". . . . . . .", " .", 1, 1, 1, 1, 1, 1, 1)))
	for i := 3; i < 5; i++ { // one token in two neighbouring rows
		lens.OfToken(e.Steps[0])[i].Likely[0].ID = 77
	}
	return e
}

// positioned is lensed with the positions of its first token, where the token before it has a word
// of its own.
func positioned() *attribution.Explanation {
	e := lensed()
	e.Studies.Set(lens.Name, &lens.Text{
		Attention: []float64{0, 0.01, 2, 0, 0, -1}, FeedForward: []float64{0, 0, 0, 0, 3, 0},
	})
	for range len(e.Prompt.Texts) {
		lens.Of(e).Positions = append(lens.Of(e).Positions, lens.OfToken(e.Steps[0]))
	}
	lens.Of(e).Positions[2] = lensSays("a a a a a a keys", "", 9, 9, 9, 9, 9, 9, 9)
	return e
}

func TestLensSentences(t *testing.T) {
	d := Lens{Explanation: lensed()}.open()
	for i, want := range []string{
		"“are” was first after layers 4 to 5 (the last), with 50 % after layer 4; before that “is” " +
			"after layers 2 to 3|" +
			"50 % after the last layer (5) · among the first 10 after layers 2 to 5 (the last) · " +
			"rank 400 at the input",
		"“here” was not first after the last layer (5): it had rank 2, and at best 1, after layer 3|" +
			"10 % after the last layer (5) · among the first 10 after layers 0 to 5 (the last) · " +
			"rank 50 at the input",
		"“.” was first at the input and after layers 0 to 5 (the last), with 50 % at the input|" +
			"50 % after the last layer (5) · among the first 10 at the input and after layers 0 to 5 " +
			"(the last) · rank 1 at the input",
	} {
		say, facts := d.explain(i)
		if got := say.String() + "|" + facts.String(); got != want {
			t.Errorf("token %d:\n%s\nwant\n%s", i, got, want)
		}
	}
}

// TestLens: text, page, figure and script data of both pictures say what the layers say.
func TestLens(t *testing.T) {
	zero := 0
	for _, c := range []struct {
		name      string
		lens      Lens
		text      []string
		markup    []string
		columns   int
		positions bool
		marked    [2]int // the row from the top and the column of a cell that is marked
	}{
		{
			"answer", Lens{Explanation: lensed()},
			[]string{
				"“are” was first after layers 4 to 5 (the last)", "2–3: is 50 %",
				"4–5 (last): are 50 %",
				"(the logit lens)",
			},
			[]string{"▸ are", "&lt;b&gt;", "▸: what it did say", "rank 400 at the input"},
			3, false, [2]int{1, 0},
		},
		{
			"positions", Lens{Explanation: positioned(), Token: &zero},
			[]string{
				"“keys” (2)  at best rank 9, at the input (10 %); after the last layer (5) keys",
				"largest parts of its logit: attention of layer 2 (+2.0), feed-forward of layer 4 (+3.0)",
			},
			[]string{"at each position", ">of its logit<", ">0 +3.0<", ">−1.0 0<", ">+2.0 0<"},
			7, true, [2]int{0, 6},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var text, markup strings.Builder
			must(t, Text(&text, c.lens, Terminal{Width: 100}))
			must(t, HTML(&markup, c.lens))
			for _, want := range c.text {
				if !strings.Contains(text.String(), want) {
					t.Errorf("the text lacks %q:\n%s", want, text.String())
				}
			}
			for _, want := range c.markup {
				if !strings.Contains(markup.String(), want) {
					t.Errorf("the page lacks %q", want)
				}
			}
			var data boardData
			if !scriptOf(t, markup.String(), &data) {
				t.Fatal("the page has no data")
			}
			table := data.Table
			if len(table.Columns) != c.columns || (len(data.Opens) == 0) != c.positions ||
				strings.Join(table.Rows, " ") != "5 (last) 4 3 2 1 0 input" ||
				table.Before[0] != "after the last layer (5)" {
				t.Errorf("%d columns, %d openings, rows %v", len(table.Columns), len(data.Opens),
					table.Rows)
			}
			drawn, err := FigureOf(c.lens, "")
			must(t, err)
			f := drawn.Matrix
			if len(f.Columns) != c.columns || !f.Words {
				t.Errorf("the figure has %d columns, words %v", len(f.Columns), f.Words)
			}
			row, column := c.marked[0], c.marked[1]
			marked := func(row int) bool {
				return slices.Contains(table.Marks, [2]int{row, column})
			}
			if !marked(row) || !f.Panels[0].Rows[row].Cells[column].Marked {
				t.Errorf("row %d of column %d is not marked", row, column)
			}
			if marked(6) || f.Panels[0].Rows[6].Cells[column].Marked {
				t.Error("the input is marked")
			}
		})
	}
}

// TestLensFolds: a long text has few columns, and the token that comes is read in those that stay.
func TestLensFolds(t *testing.T) {
	zero := 0
	e := positioned()
	for i := range 300 {
		e.Prompt.Texts = slices.Insert(e.Prompt.Texts, 2, " word")
		e.Prompt.IDs, e.Prompt.Special = append(e.Prompt.IDs, i), append(e.Prompt.Special, false)
	}
	e.Methods, e.Order = nil, nil
	quiet := lensSays("a a a a a a a", "", 9, 9, 9, 9, 9, 9, 9)
	for i := range quiet {
		quiet[i].Probability = 0
	}
	last := lens.Of(e).Positions[6]
	lens.Of(e).Positions = nil
	for range len(e.Prompt.Texts) - 1 {
		lens.Of(e).Positions = append(lens.Of(e).Positions, quiet)
	}
	lens.Of(e).Positions = append(lens.Of(e).Positions, last)
	d := Lens{Explanation: e, Token: &zero}.open()
	if n := len(d.matrix); n > 30 {
		t.Errorf("%d columns of %d tokens", n, len(e.Prompt.Texts))
	}
	if _, name, came := d.cell(len(d.matrix)-1, 6); name != "are" || !came {
		t.Errorf("the last cell is %q, came %v", name, came)
	}
}

// TestLensRefuses: what has no lens, or a damaged one, is refused.
func TestLensRefuses(t *testing.T) {
	for want, damage := range map[string]func(e *attribution.Explanation){
		"token 1 has no lens of the 6 layers": func(e *attribution.Explanation) {
			e.Steps[1].Studies.Set(lens.Name, new(lens.OfToken(e.Steps[1])[1:]))
		},
		"token 2 has no lens of the 6 layers": func(e *attribution.Explanation) {
			lens.OfToken(e.Steps[2])[0].Likely = nil
		},
		"token 0 has no lens of the 6 layers": func(e *attribution.Explanation) {
			lens.OfToken(e.Steps[0])[3].Rank = -5
		},
		"prediction 0 has no position": func(e *attribution.Explanation) {
			e.Model.Bidirectional = true
		},
		"a model of -1 layers has no lens": func(e *attribution.Explanation) {
			e.Model.Layers = -1
			for t := range e.Steps {
				e.Steps[t].Studies = nil
			}
		},
		"the lens of token 0 at 0 positions": func(e *attribution.Explanation) {
			lens.Of(e).Positions = nil
		},
		"the lens of token 9 at 7 positions": func(e *attribution.Explanation) { lens.Of(e).Token = 9 },
		"the lens of token 0 at 7 positions": func(e *attribution.Explanation) {
			lens.Of(e).FeedForward = nil
		},
		"the lens of token 0 at 11 positions": func(e *attribution.Explanation) {
			lens.Of(e).Positions = append(lens.Of(e).Positions, lens.Of(e).Positions[:4]...)
		},
	} {
		e := positioned()
		damage(e)
		if err := (Lens{Explanation: e}).Check(); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
