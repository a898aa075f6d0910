package tokenizer_test

import (
	"fmt"
	"log"
	"maps"

	"github.com/headwater-ml/headwater/internal/tokenizer"
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

// Decode is the way back from ids to text; it can leave out the control tokens.
func ExampleTokenizer_Decode() {
	t, err := tokenizer.Load("testdata/roberta.json")
	if err != nil {
		log.Fatal(err)
	}
	encoded, err := t.Encode("The keys", true)
	if err != nil {
		log.Fatal(err)
	}
	var ids []int
	for _, e := range encoded {
		ids = append(ids, e.ID)
	}
	for _, skipSpecials := range []bool{false, true} {
		text, err := t.Decode(ids, skipSpecials)
		fmt.Printf("%q %v\n", text, err)
	}
	// Output:
	// "<s>The keys</s>" <nil>
	// "The keys" <nil>
}

// Each yields the tokens one after the other, so a caller can stop early.
func ExampleTokenizer_Each() {
	t, err := tokenizer.Load("testdata/gpt2.json")
	if err != nil {
		log.Fatal(err)
	}
	for e, err := range t.Each("The keys are lost", false) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%q ", t.TokenText(e.ID))
		if e.End > 8 {
			break
		}
	}
	// Output: "The" " keys" " are"
}

// A file with a part that is not supported is refused; the error names the part.
func ExampleParse_unsupported() {
	_, err := tokenizer.Parse([]byte(`{"version":"1.0","normalizer":{"type":"Rot13"},
		"model":{"type":"WordLevel","vocab":{"a":0},"unk_token":"a"}}`), "tokenizer.json")
	fmt.Printf("%.80s\n", err)
	// Output: tokenizer: tokenizer.json: normalizer: type "Rot13" is not supported (supported:
}
