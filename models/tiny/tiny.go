// Package tiny is the embedded toy model and its grammar. The model is a BLOOM decoder of 6 layers,
// 8 heads and width 128 that knows a small grammar. It is small enough to be part of the program
// and needs no set-up. It can be used to judge methods, because the grammar knows which words of a
// prompt decide each answer.
//
// Package train, below this one, makes the weights from the grammar.
package tiny

import (
	"embed"
	"io/fs"
)

// Name is the name that opens the model. Note is shown with every picture of it.
const (
	Name = "tiny"
	Note = "toy grammar model"
)

//go:embed data
var data embed.FS

// Files returns the checkpoint in the directory layout of Hugging Face: config.json,
// generation_config.json, tokenizer.json, model.safetensors, and the report of its training,
// report.json.
func Files() fs.FS {
	files, err := fs.Sub(data, "data")
	if err != nil {
		panic(err) // "data" is a valid path
	}
	return files
}
