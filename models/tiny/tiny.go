// Package tiny is the embedded toy model: a BLOOM decoder of 6 layers, 8 heads and width 128 that knows a small grammar, the grammar
// itself, and which words of a prompt each answer rests on. It is small enough to ship in the program, to run without any set-up,
// and to judge methods by, because here the evidence is known.
//
// Package train below it makes the weights from the grammar.
package tiny

import (
	"embed"
	"io/fs"
)

// Name is what the model is opened by, Note what every picture of it says.
const (
	Name = "tiny"
	Note = "toy grammar model"
)

//go:embed data
var data embed.FS

// Files is the checkpoint in the layout of Hugging Face: config.json, generation_config.json, tokenizer.json, model.safetensors,
// and report.json of its training.
func Files() fs.FS {
	files, err := fs.Sub(data, "data")
	if err != nil {
		panic(err) // "data" is a valid path
	}
	return files
}
