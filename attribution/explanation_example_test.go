package attribution_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/attributiontest"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/units"
)

// Occlusion explains why the model predicts its token and not w5: positive values speak for the
// token, negative ones for w5.
func ExampleExplain_scorer() {
	model := attributiontest.NewModel(1) // or models.Open
	e, err := attribution.Explain(context.Background(), model, "w3 w8 w2", attribution.Options{
		Methods: []string{"occlusion"}, Contrast: "w5", MaxTokens: 1,
		Scoring: scorer.Options{Quantity: "logit", Replacement: "delete"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	r := e.Methods["occlusion"]
	fmt.Printf("%s: %.2f, %s\n", e.Steps[0].Text, r.Row(0, r.Top()), r.Unit)
	// Output:
	// w9: [3.72 4.23 1.50], change of the logit
}

// keys is an explanation made by hand: one generated token, six prompt tokens.
func keys() *attribution.Explanation {
	return &attribution.Explanation{
		Prompt: attribution.Prompt{
			Text: "The keys. John", IDs: []int{0, 1, 2, 3, 4, 5},
			Texts:   []string{"<s>", "The", " key", "s", ".", " John"},
			Offsets: [][2]int{{0, 0}, {0, 3}, {3, 7}, {7, 8}, {8, 9}, {9, 14}},
			Special: []bool{true, false, false, false, false, false},
		},
		Steps: []attribution.GeneratedToken{{Text: " left"}},
		Order: []string{"rollout"},
		Methods: map[string]*attribution.Result{"rollout": {
			Options: map[string]string{"aggregation": "rollout"}, Layers: []int{0},
			Shape: [3]int{1, 6, 1}, Rows: [][]float64{{0.5, 0.05, 0.15, 0.1, 0.05, 0.15}}, OtherMass: []float64{0},
			Unit:  "share of attention",
			Facts: attribution.Facts{Quantity: attribution.Share, AddsUp: true, Combined: true},
		}},
	}
}

// The tokens " key" and "s" become one word, whose share is the sum of theirs.
func ExampleExplanation_Group() {
	by, err := units.ParseGrouping("word")
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := keys().Group(by)
	if err != nil {
		fmt.Println(err)
		return
	}
	r := e.Methods["rollout"]
	for j, share := range r.Row(0, r.Top()) {
		fmt.Printf("%-4s %.2f\n", e.Prompt.Texts[j], share)
	}
	// Output:
	// <s>  0.50
	// The  0.05
	// keys 0.25
	// .    0.05
	// John 0.15
}

// The filter hides "." and "," from the ranking, but its share does not change.
func ExampleExplanation_TopK() {
	top, err := keys().TopK(0, "rollout", 3, attribution.DefaultFilter())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, token := range top {
		fmt.Printf("%d %q %.2f\n", token.Position, token.Text, token.Value)
	}
	// Output:
	// 0 "<s>" 0.50
	// 2 " key" 0.15
	// 5 " John" 0.15
}

// The begin-of-text token has half of the row: it is a sink, and a picture scales the rest.
func ExampleExplanation_Sinks() {
	e := keys()
	sinks, err := e.Sinks("rollout", 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range sinks {
		fmt.Printf("%s: %.2f\n", s.Text, s.Shares)
	}
	// Output:
	// <s>: [0.50]
}

// Any mixing goes with any aggregation.
func ExampleLookupMethod() {
	m, err := attribution.LookupMethod("value-zeroing+flow")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s after %s, residual %v\n", m.Aggregation, m.Mixing, m.Residual)
	_, err = attribution.LookupMethod("rolout")
	question, _, _ := strings.Cut(err.Error(), "? ")
	fmt.Println(question)
	// Output:
	// flow after value-zeroing, residual 0
	// attribution: unknown method "rolout"; did you mean rollout
}
