package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/models/tokenizer"
)

func (p *program) tokenizeCommand() *cobra.Command {
	var path string
	var noSpecials bool
	cmd := &cobra.Command{
		Use:   "tokenize --tokenizer FILE",
		Short: "turn JSON strings, one a line, into token ids and byte offsets",
		Long: "Tokenize reads JSON strings from standard input, one a line, and writes for each a line {\"ids\":[…],\"offsets\":[[b,e],…]}.\n" +
			"Offsets are bytes of the text in UTF-8, half open; those of control tokens that the tokenizer adds are [0,0].",
		Example: `  echo '"the keys to the cabinet"' | headwater tokenize --tokenizer gpt2/tokenizer.json`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := needFlags(cmd, "tokenizer"); err != nil {
				return err
			}
			return p.tokenize(cmd.Context(), path, !noSpecials)
		},
	}
	cmd.Flags().StringVar(&path, "tokenizer", "", "the tokenizer.json, or the directory of a model: a `FILE`")
	cmd.Flags().BoolVar(&noSpecials, "no-specials", false, "do not add control tokens such as begin-of-text")
	return cmd
}

// tokenized is a line of output.
type tokenized struct {
	IDs     []int    `json:"ids"`
	Offsets [][2]int `json:"offsets"`
}

// tokenize writes the tokens of each line of standard input. After a bad one it ends; what was written stays.
func (p *program) tokenize(ctx context.Context, path string, specials bool) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "tokenizer.json")
	}
	t, err := tokenizer.Load(path)
	if err != nil {
		return err
	}
	out, err := p.create("")
	if err != nil {
		return err
	}
	for l, err := range lines(p.stdin, "standard input") {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return errors.Join(out.commit(), err)
		}
		text, err := jsonString(l.text)
		if err != nil {
			return errors.Join(out.commit(), fmt.Errorf("standard input line %d: %w", l.number, err))
		}
		tokens, err := tokenize(t, text, specials)
		if err != nil {
			return errors.Join(out.commit(), fmt.Errorf("standard input line %d: %w", l.number, err))
		}
		if err := writeJSON(out, tokens); err != nil {
			return err
		}
		if l.last {
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
	return out.commit()
}

// jsonString reads a JSON string; null and numbers are none.
func jsonString(line []byte) (s string, err error) {
	if strings.HasPrefix(strings.TrimSpace(string(line)), `"`) {
		err = json.Unmarshal(line, &s)
		if err == nil {
			return s, nil
		}
	}
	return "", errors.Join(errors.New(`want a JSON string such as "some text"`), err)
}

func tokenize(t *tokenizer.Tokenizer, text string, specials bool) (tokenized, error) {
	encoded, err := t.Encode(text, specials)
	r := tokenized{IDs: []int{}, Offsets: [][2]int{}}
	for _, e := range encoded {
		r.IDs = append(r.IDs, e.ID)
		r.Offsets = append(r.Offsets, [2]int{e.Begin, e.End})
	}
	return r, err
}
