package render_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
)

// A view of another module: the rows of the first method, in numbers.
func init() {
	render.RegisterView(render.View{
		Name: "numbers", Help: "the rows of the first method",
		Picture: func(s render.Show, e *attribution.Explanation, _ any) (render.Picture, error) {
			return numbers(s, e)
		},
	})
}

// numbers fills the board of the view.
func numbers(s render.Show, e *attribution.Explanation) (*render.Board, error) {
	if len(e.Order) == 0 || len(e.Steps) == 0 {
		return nil, trace.Usagef("there are no rows to show numbers of")
	}
	r := e.Methods[e.Order[0]]
	if err := r.Check(len(e.Prompt.Texts)); err != nil || r.Shape[0] != len(e.Steps) {
		return nil, trace.Usagef("rows of shape %v do not fit the text", r.Shape)
	}
	b := render.NewBoard(e, "The rows of a method", s.Look())
	b.Kind, b.Details = "numbers", "every row in a line"
	b.Legend = "A row is a token of the answer."
	var all []float64
	for t := range e.Steps {
		all = append(all, r.Row(t, 0)[:len(e.Prompt.Texts)]...)
	}
	b.Scale = render.NewScale(render.Visible(r.Unit, 40), r.Quantity, all)
	b.SetColumns(make([]float64, len(e.Prompt.Texts)))
	b.By, b.Table.Title, b.Table.Pattern = render.ByRow, "Rows", [][]string{{"first", "b"}, {"place"}}
	for t, g := range e.Steps {
		row := render.Row{Name: render.Visible(strings.TrimSpace(g.Text), 20)}
		o, best := render.Opening{Token: -1, Row: t}, 0
		for _, c := range b.Table.Over {
			x := r.Row(t, 0)[c.From]
			if x > r.Row(t, 0)[best] {
				best = c.From
			}
			row.Cells = append(row.Cells, render.Cell{
				Step: b.Scale.Step(x), Text: b.Scale.Text(x), Detail: b.Scale.Text(x),
			})
		}
		o.Say.Name(row.Name)
		o.Say.Say(" has most from ")
		o.Say = append(o.Say, b.Word(best)...)
		b.Table.Rows, b.Opens = append(b.Table.Rows, row), append(b.Opens, o)
		b.Lists = append(b.Lists, render.Line{Name: fmt.Sprintf("%3d  ", t+1), Say: o.Say})
		b.Lines = append(b.Lines, render.Line{Name: row.Name, Say: o.Say})
	}
	b.Opened = b.Opens[0]
	return b, nil
}

func ExampleBoard() {
	e := &attribution.Explanation{
		Model: trace.Info{Name: "hand-made"},
		Prompt: attribution.Prompt{
			Text: "the keys", Texts: []string{"the", " keys"}, Special: []bool{false, false},
		},
		Steps: []attribution.GeneratedToken{{Text: " are", Probability: 0.93}},
		Order: []string{"raw"},
		Methods: map[string]*attribution.Result{"raw": {
			Layers: []int{0}, Shape: [3]int{1, 2, 1}, Rows: [][]float64{{0.25, 0.75}},
			Unit: "share of attention", Facts: attribution.Facts{Quantity: attribution.Share},
		}},
	}
	p, err := render.Show{Kind: "numbers"}.Picture(e, nil)
	if err == nil {
		err = render.Text(os.Stdout, p, render.Terminal{})
	}
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// The rows of a method
	// prompt     the keys
	// generated  are
	//
	//   1  are has most from keys
	//
	// A row is a token of the answer.
	// model  hand-made
}
