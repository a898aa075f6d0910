package trace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/tokenizer"
	"github.com/headwater-ml/headwater/models"
)

func tokenizeCommand(k *cli.Kit) *cobra.Command {
	var path string
	var noSpecials bool
	cmd := &cobra.Command{
		Use:   "tokenize --tokenizer FILE",
		Short: "turn JSON strings, one a line, into token ids and byte offsets",
		Args:  cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.NeedFlags(cmd, "tokenizer"); err != nil {
				return err
			}
			return tokenizeLines(cmd.Context(), k, path, !noSpecials)
		},
	}
	cmd.Flags().StringVar(&path, "tokenizer", "", "the tokenizer.json, or the directory "+
		"or GGUF file of a model: a `FILE`")
	cmd.Flags().BoolVar(&noSpecials, "no-specials", false, "do not add control tokens "+
		"such as begin-of-text")
	return cmd
}

// tokenizeLines writes the tokens of each line of standard input. After a bad one it ends; what was
// written stays.
func tokenizeLines(ctx context.Context, k *cli.Kit, path string, specials bool) error {
	t, err := models.OpenTokenizer(path)
	if err != nil {
		return err
	}
	out, err := k.Create(ctx, "")
	if err != nil {
		return err
	}
	input, name, err := k.OpenInput(ctx, "-")
	if err != nil {
		return err
	}
	defer input.Close()
	for l, err := range cli.Lines(input, name) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return errors.Join(out.Commit(), err)
		}
		text, err := jsonString(l.Text)
		if err != nil {
			return errors.Join(out.Commit(),
				fmt.Errorf("standard input line %d: %w", l.Number, err))
		}
		tokens, err := tokenize(ctx, t, text, specials)
		if err != nil {
			return errors.Join(out.Commit(),
				fmt.Errorf("standard input line %d, %s: %w", l.Number, path, err))
		}
		if err := cli.WriteJSON(out, tokens); err != nil {
			return err
		}
		if l.Last {
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
	return out.Commit()
}

// jsonString reads a JSON string. It refuses null, numbers and halves of characters.
func jsonString(line []byte) (s string, err error) {
	if bytes.HasPrefix(bytes.TrimLeft(line, " \t\r\n"), []byte(`"`)) {
		if err = message.WholeCharacters(line); err != nil {
			return "", err
		}
		if err = json.Unmarshal(line, &s); err == nil {
			return s, nil
		}
	}
	return "", errors.Join(errors.New(`want a JSON string such as "some text"`), err)
}

// tokenized is a line of output.
type tokenized struct {
	IDs     []int    `json:"ids"`
	Offsets [][2]int `json:"offsets"`
}

// mostText is how long a text may be, in bytes. Each may be a token, which takes 24 bytes and some
// 16 in the line that is written.
const mostText = 4 << 20

// tokenize returns the tokens of a text.
func tokenize(ctx context.Context, t *tokenizer.Tokenizer, text string, specials bool) (tokenized,
	error,
) {
	if len(text) > mostText {
		return tokenized{}, fmt.Errorf("a text of %d bytes; at most %d", len(text), mostText)
	}
	r := tokenized{IDs: []int{}, Offsets: [][2]int{}}
	for e, err := range t.Each(text, specials) {
		if err == nil && len(r.IDs)%(1<<12) == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return tokenized{}, err
		}
		r.IDs = append(r.IDs, e.ID)
		r.Offsets = append(r.Offsets, [2]int{e.Begin, e.End})
	}
	return r, nil
}
