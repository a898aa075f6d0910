// The Unigram tokenizer of gomlx/go-huggingface v0.4.0 takes the longest piece and reads no scores.
// The segmentation of "abc" with the highest sum of scores is a bc (-1 - 1 = -2), ids 1 and 2; the
// program prints the ids of ab c (-8 - 8 = -16).
//
// In an empty folder with this file: go mod init example.com/unigram &&
// go mod edit -require=github.com/gomlx/go-huggingface@v0.4.0 && go mod tidy && go run unigram.go
package main

import (
	"fmt"
	"os"

	"github.com/gomlx/go-huggingface/tokenizers/api"
	"github.com/gomlx/go-huggingface/tokenizers/hftokenizer"
)

const file = `{"model": {"type": "Unigram", "unk_id": 0, "vocab":
	[["<unk>", 0], ["a", -1], ["bc", -1], ["ab", -8], ["c", -8]]}}`

func main() {
	t, err := hftokenizer.NewFromContent(&api.Config{}, []byte(file))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(t.Encode("abc"), "want [1 2]")
}
