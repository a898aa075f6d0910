// Package tiny has the trained models that are part of the program, and their grammars. They are
// small and need no set-up. They can be used to judge methods, because a grammar knows which words
// of a text decide each answer.
//
// The first model, named "tiny", is a BLOOM decoder of 6 layers, 8 heads and width 128. [Document]
// is a text for it, [Generator] makes them, and [Files] has the checkpoint. [Models] lists all
// models: a classifier of verb number, a model that fills in masked words, a classifier of
// sentiment, a decoder of 12 layers, and a model of two stacks that translates. [Model.Sentences]
// makes texts for any of them, each with a right and a wrong answer and with its evidence.
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

//go:embed data trained
var checkpoints embed.FS

// Files returns the checkpoint of the first model; see [Model.Files].
func Files() fs.FS { return models[0].Files() }
