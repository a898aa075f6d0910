package trace

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/models"
	"github.com/headwater-ml/headwater/models/tokenizer"
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
	for l, err := range cli.Lines(k.Stdin, "standard input") {
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
		if err := tokens.write(out.Writer); err != nil {
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

// tokenized is a line of output before it is written: the ids and the offsets as differences, in
// about 5 bytes a token. The line is written only when all of it is right, and a text of 20 MB may
// have as many tokens.
type tokenized struct {
	ids, offsets packed
}

// packed are numbers, each in as few bytes as it needs. They are in blocks, so that they never
// move.
type packed struct {
	blocks [][]byte
}

// packedBlock is the size of a block in bytes.
const packedBlock = 1 << 16

func (p *packed) add(n int) {
	last := len(p.blocks) - 1
	if last < 0 || len(p.blocks[last])+binary.MaxVarintLen64 > packedBlock {
		size := packedBlock
		if last < 0 {
			size = 64 // most texts are short
		}
		p.blocks = append(p.blocks, make([]byte, 0, size))
		last++
	}
	p.blocks[last] = binary.AppendVarint(p.blocks[last], int64(n))
}

func (p *packed) all() iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, block := range p.blocks {
			for len(block) > 0 {
				n, size := binary.Varint(block)
				if !yield(int(n)) {
					return
				}
				block = block[size:]
			}
		}
	}
}

func tokenize(ctx context.Context, t *tokenizer.Tokenizer, text string, specials bool) (tokenized,
	error,
) {
	var r tokenized
	last, n := 0, 0
	for e, err := range t.Each(text, specials) {
		if n++; err == nil && n%(1<<12) == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return tokenized{}, err
		}
		r.ids.add(e.ID)
		r.offsets.add(e.Begin - last)
		r.offsets.add(e.End - e.Begin)
		last = e.Begin
	}
	return r, nil
}

// write writes a line {"ids":[...],"offsets":[[b,e],...]}. Errors of the buffered writer stay with
// it.
func (r *tokenized) write(w *bufio.Writer) error {
	var text []byte
	separator := `{"ids":[`
	for id := range r.ids.all() {
		text = strconv.AppendInt(append(text[:0], separator...), int64(id), 10)
		if _, err := w.Write(text); err != nil {
			return err
		}
		separator = ","
	}
	if separator != "," {
		text = append(text[:0], separator...)
	} else {
		text = text[:0]
	}
	text = append(text, `],"offsets":[`...)
	at, begins, first := 0, true, true
	for n := range r.offsets.all() {
		if begins {
			if !first {
				text = append(text, ',')
			}
			at += n
			text = append(strconv.AppendInt(append(text, '['), int64(at), 10), ',')
		} else {
			text = append(strconv.AppendInt(text, int64(at+n), 10), ']')
			if _, err := w.Write(text); err != nil {
				return err
			}
			text = text[:0]
		}
		begins, first = !begins, false
	}
	_, err := w.Write(append(text, "]}\n"...))
	return err
}
