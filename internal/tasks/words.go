package tasks

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

// words are the lists of one split, by name. Entries of capitals, subjects, attractors and
// relations are two words with a space between them.
type words struct {
	Lists     map[string][]string
	Relations [][]string
}

// texts is what all tasks are made of.
var texts = readTexts()

//go:embed words.json
var textsFile []byte

// allTexts has the templates of each kind of task, the words of each split, and the classes of
// words of templates and of filler, each with what can stand in the place of the others. Neutral
// are words for one of no known class.
type allTexts struct {
	Templates map[string][]string
	HeldOut   *words `json:"held-out"`
	Dev       *words
	Classes   [][]string
	Neutral   []string
}

func readTexts() (t allTexts) {
	if err := json.Unmarshal(textsFile, &t); err != nil {
		panic(fmt.Sprintf("tasks: words.json: %v", err)) // a test reads it
	}
	return t
}

// wordsOf returns the lists of a split.
func wordsOf(split Split) *words {
	if split == Dev {
		return texts.Dev
	}
	return texts.HeldOut
}

// lists are the names of the lists that are classes of words, of single words and of pairs.
var lists, pairLists = []string{
	"names", "places", "things", "nouns", "events", "jobs", "animals", "instruments", "cities",
	"colors", "metals", "foods", "variables", "functions",
}, []string{"capitals", "subjects", "attractors"}
