// Demo explains one prediction of the embedded model by the methods of a plugin.
package main

import (
	"context"
	"fmt"
	"log"
	"slices"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/models"

	_ "example.com/plugin"
)

func main() {
	model, err := models.Open(models.Default, models.Options{})
	if err != nil {
		log.Fatal(err)
	}
	e, err := attribution.Explain(context.Background(), model, "mary has the red key . john has the blue lamp . who has the lamp ?",
		attribution.Options{Methods: []string{"average", "neighbor"}, MaxTokens: 1})
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range e.Order {
		result := e.Methods[name]
		row := result.Row(0, len(result.Layers)-1)
		most := slices.Index(row, slices.Max(row))
		fmt.Printf("%s: most of%s comes from%s\n", name, e.Steps[0].Text, e.Prompt.Texts[most])
	}
}
