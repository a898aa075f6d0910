package models_test

import (
	"context"
	"fmt"
	"log"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/models"
)

// The embedded model continues a prompt, and Value Zeroing says where the first token came from.
func Example() {
	m, err := models.Open("tiny", models.Options{})
	if err != nil {
		log.Fatal(err)
	}
	e, err := attribution.Explain(context.Background(), m, "the keys to the cabinet",
		attribution.Options{MaxTokens: 3})
	if err != nil {
		log.Fatal(err)
	}
	top, err := e.TopK(0, "value-zeroing", 1, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("the keys to the cabinet%s, mostly from%s\n", e.Steps[0].Text, top[0].Text)
	// Output: the keys to the cabinet are, mostly from keys
}
