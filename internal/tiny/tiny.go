// Package tiny has the trained models that are part of the program, and their grammars. They are
// small and need no set-up. They can be used to judge methods, because a grammar knows which words
// of a text decide each answer.
//
// The first model, named "tiny", is a BLOOM decoder of 6 layers, 8 heads and width 128. [Document]
// is a text for it, [Generator] makes them, and [Files] has the checkpoint. [Models] lists all
// models: a classifier of verb number, a model that fills in masked words, a classifier of
// sentiment, and a decoder of 12 layers. [Model.Sentences] makes texts for any of them, each with a
// right and a wrong answer and with its evidence.
//
// The command cmd/train-tiny makes the weights from the grammars.
package tiny

import (
	"embed"
	"io/fs"
)

// Name is the name that opens the first model. Note is shown with every picture of it.
const (
	Name = "tiny"
	Note = "toy grammar model"
)

//go:embed data
var data embed.FS

// Files returns the checkpoint of the first model in the directory layout of Hugging Face:
// config.json, generation_config.json, tokenizer.json, model.safetensors, and the report of its
// training, report.json.
func Files() fs.FS {
	files, err := fs.Sub(data, "data")
	if err != nil {
		panic(err) // "data" is a valid path
	}
	return files
}
