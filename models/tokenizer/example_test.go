package tokenizer_test

import (
	"fmt"
	"log"
	"maps"

	"github.com/headwater-ml/headwater/models/tokenizer"
)

func Example() {
	t, err := tokenizer.Load("testdata/gpt2.json")
	if err != nil {
		log.Fatal(err)
	}
	encoded, err := t.Encode("The keys are lost", true)
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range encoded {
		fmt.Printf("%d %q [%d,%d)\n", e.ID, t.TokenText(e.ID), e.Begin, e.End)
	}
	// Output:
	// 974 "The" [0,3)
	// 842 " keys" [3,8)
	// 930 " are" [8,12)
	// 909 " lo" [12,15)
	// 313 "st" [15,17)
}

func ExampleTrain() {
	words := map[string]int{" the": 90, " key": 40, " keys": 40, " cabinet": 2}
	t, err := tokenizer.Train(maps.All(words),
		tokenizer.TrainOptions{VocabSize: 1 + 256 + 6, Specials: []string{"</s>"}})
	if err != nil {
		log.Fatal(err)
	}
	encoded, err := t.Encode(" the keys</s>", false)
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range encoded {
		fmt.Printf("%q ", t.TokenText(e.ID))
	}
	// Output: " the" " key" "s" "</s>"
}
