package cli

import (
	"encoding/json"
	"fmt"

	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/message"
)

// The keys of the metadata that headwater show reads, of which tokens is required.
const (
	TokensKey    = "tokens"    // a JSON list of the texts of all tokens
	GeneratedKey = "generated" // how many of the last ones were generated
	ModelKey     = "model"     // the name of the model
	SinksKey     = "sinks"     // true if rows of attention sum to less than 1; see [trace.Info]
)

// WantTokens ends the message about the texts of tokens in the metadata of a file.
const WantTokens = `want a JSON list of the texts of all tokens, such as ["The"," key"]`

// HasSinks reports whether the metadata of a file says that its model has sinks.
func HasSinks(file *checkpoint.File) bool { return file.Metadata()[SinksKey] == "true" }

// TokensOf reads the texts of the tokens in the metadata of a file; nil if it has none.
func TokensOf(file *checkpoint.File) (tokens []string, err error) {
	text, ok := file.Metadata()[TokensKey]
	if !ok {
		return nil, nil
	}
	if err := message.WholeCharacters([]byte(text)); err != nil {
		return nil, fmt.Errorf("tokens in its metadata: %w", err)
	}
	if json.Unmarshal([]byte(text), &tokens) != nil || len(tokens) == 0 {
		return nil, fmt.Errorf("tokens in its metadata is %.60q; "+WantTokens, text)
	}
	return tokens, nil
}
