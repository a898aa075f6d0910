package main

import (
	"encoding/json"
	"fmt"

	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/message"
)

// The keys of the metadata that headwater show reads, of which tokens is required.
const (
	tokensKey    = "tokens"    // a JSON list of the texts of all tokens
	generatedKey = "generated" // how many of the last ones were generated
	modelKey     = "model"     // the name of the model
)

// windowKey is the key of the metadata that says that some layers see only the last tokens: how
// many, where they see fewest. It is there only if the text has more.
const windowKey = "window"

// wantTokens ends the message about the texts of tokens in the metadata of a file.
const wantTokens = `want a JSON list of the texts of all tokens, such as ["The"," key"]`

// tokensOf reads the texts of the tokens in the metadata of a file; nil if it has none.
func tokensOf(file *checkpoint.File) (tokens []string, err error) {
	text, ok := file.Metadata()[tokensKey]
	if !ok {
		return nil, nil
	}
	if err := message.WholeCharacters([]byte(text)); err != nil {
		return nil, fmt.Errorf("tokens in its metadata: %w", err)
	}
	if json.Unmarshal([]byte(text), &tokens) != nil || len(tokens) == 0 {
		return nil, fmt.Errorf("tokens in its metadata is %.60q; "+wantTokens, text)
	}
	return tokens, nil
}
