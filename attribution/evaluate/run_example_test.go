package evaluate_test

import (
	"context"
	"fmt"
	"log"

	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/internal/planted"
	"github.com/headwater-ml/headwater/models"
)

// A planted circuit is a model whose weights are set by hand, so it is known which words decide an
// answer. Occlusion always ranks them first. Rollout is above chance, but often ranks other words
// above them.
func ExampleRun() {
	model, err := models.Open("planted-relay", models.Options{})
	if err != nil {
		log.Fatal(err)
	}
	circuit, err := planted.Lookup("planted-relay")
	if err != nil {
		log.Fatal(err)
	}
	var cases []evaluate.Case
	for _, text := range circuit.Texts(20, 1) {
		c := evaluate.Case{Prompt: text.Prompt(), Continuation: " " + text.Answer}
		for _, word := range text.Evidence {
			begin, end := text.Span(word)
			c.Evidence = append(c.Evidence, [2]int{begin, end})
		}
		cases = append(cases, c)
	}
	opts := evaluate.Options{Methods: []string{"rollout", "occlusion"}}
	report, err := evaluate.Run(context.Background(), model, cases, opts)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("cases:", report.Cases, "of them the model's own answer:", report.Chosen)
	for _, method := range []string{"occlusion", "rollout", evaluate.ChanceLine} {
		s, _ := report.At(report.Groups[0], method, "average precision")
		fmt.Printf("%-9s %.2f\n", method, s.Mean)
	}
	// Output:
	// cases: 20 of them the model's own answer: 20
	// occlusion 1.00
	// rollout   0.52
	// chance    0.25
}
