package sources_test

import (
	"context"
	"fmt"
	"log"

	"github.com/headwater-ml/headwater/internal/sources"
	"github.com/headwater-ml/headwater/models"
)

// Which sentence made the model say "john"?
func ExampleExplain() {
	model, err := models.Open("", models.Options{})
	if err != nil {
		log.Fatal(err)
	}
	documents, err := sources.NewContext([]string{
		"mary has the red key . john has the blue lamp . anna has the old book .",
	}, sources.Division{})
	if err != nil {
		log.Fatal(err)
	}
	answer, err := sources.EncodeAnswer(model, "", " john")
	if err != nil {
		log.Fatal(err)
	}
	result, err := sources.Explain(context.Background(), model, sources.Question{
		Context: documents,
		Prompt: func(documents string) (string, error) {
			return documents + " who has the lamp ?", nil
		},
		Answer: answer,
	}, sources.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, scores := range result.Methods {
		strongest := scores.Ranked()[0]
		fmt.Printf("%s: %s\n", scores.Method, result.Sources[strongest].Text)
	}
	// Output:
	// context-cite: john has the blue lamp .
	// leave-one-out: john has the blue lamp .
}
