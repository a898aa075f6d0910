package tiny_test

import (
	"fmt"

	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/tiny"
)

// The model is a checkpoint that is part of the program.
func ExampleFiles() {
	dir, err := checkpoint.FromFS(tiny.Files(), tiny.Name)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dir.Close()
	shape, err := dir.Weights.Shape("transformer.word_embeddings.weight")
	fmt.Println(dir.Config["model_type"], dir.Config["n_layer"], shape, err)
	// Output: bloom 6 [929 128] <nil>
}

// A test document names the words that decide its answer.
func ExampleGenerator_Test() {
	d := tiny.New(tiny.HeldOut).Test(tiny.Agreement, 1, 1)[0]
	answer := d.Answers[0]
	fmt.Println(d.Prompt(answer), "→", d.Words[answer.Word])
	for _, e := range answer.Evidence {
		fmt.Println(e.Role, "is", d.Words[e.Word])
	}
	fmt.Println("instead of", answer.Alternatives)
	// Output:
	// the table with the safe kettles → is
	// source is table
	// instead of [are]
}

func ExampleModel_UnknownWords() {
	m, _ := tiny.Lookup(tiny.Name)
	fmt.Println(m.UnknownWords("The keys to the castle are"))
	// Output: [The castle]
}

// A sentence has a right and a wrong answer and the words that decide between them.
func ExampleModel_Sentences() {
	m, _ := tiny.Lookup(tiny.MaskedName)
	s := m.Sentences(tiny.HeldOut, "pronoun", 1, 1)[0]
	fmt.Println(s.Text())
	fmt.Println(s.Right, "and not", s.Wrong)
	for _, i := range s.Sources() {
		fmt.Println("because of", s.Words[i])
	}
	// Output:
	// the lady wrote to nathaniel about [MASK] success .
	// her and not his
	// because of lady
}
