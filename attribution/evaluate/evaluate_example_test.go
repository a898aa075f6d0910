package evaluate_test

import (
	"context"
	"fmt"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/attributiontest"
	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// Two of five tokens are known to matter. The scores rank them first and third.
func ExampleAlign() {
	scores := []float64{0.1, 0.5, 0.2, 0.15, 0.05}
	cue := []bool{false, true, false, true, false}
	c := evaluate.Align(scores, cue)
	fmt.Printf("dot %.2f, average precision %.3f\n", float64(c.Dot), c.AveragePrecision)
	fmt.Printf("by chance %.3f\n", evaluate.Chance(5, 2).AveragePrecision)
	// Output:
	// dot 0.65, average precision 0.833
	// by chance 0.593
}

// Does the prediction fall if the tokens that a scorer ranks first are removed?
func ExampleFaithful() {
	ctx, model := context.Background(), attributiontest.NewModel(1) // or models.Open
	q := trace.Query{IDs: []int{3, 8, 2, 5, 1}, Objective: trace.Objective{
		Quantity: trace.Probability, Position: 4, Token: 1, // the model predicts it
	}}
	opts := attribution.Scoring{Replacement: "mask"}
	text, err := attribution.NewRemoval(ctx, model, q, opts)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range []string{"occlusion", "random"} {
		scorer, err := attribution.LookupScorer(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		scores, err := scorer.Score(ctx, model, q, opts)
		if err != nil {
			fmt.Println(err)
			return
		}
		f, err := evaluate.Faithful(ctx, text, scores.Values, 0)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: AOPC %.2f, f without the first k tokens %.2f\n", name, f.AOPC, f.Deletion)
	}
	// Output:
	// occlusion: AOPC 0.47, f without the first k tokens [0.47 0.00 0.00 0.01 0.01 0.01]
	// random: AOPC 0.43, f without the first k tokens [0.47 0.05 0.16 0.00 0.00 0.01]
}
