package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"unicode/utf8"
)

// maxLine is how long a line of input may be, in bytes.
const maxLine = 32 << 20

// Line is a line of an input, without its end.
type Line struct {
	Number int // from 1
	Text   []byte
	// Last is whether the next line is not there yet, so that results should be shown.
	Last bool
}

// Lines yields the lines of r. The error, the last thing that it yields, names the line. Text is
// valid until the next one.
func Lines(r io.Reader, name string) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		b := bufio.NewReaderSize(r, 1<<16)
		var text []byte
		for number := 1; ; number++ {
			var err error
			text, err = readLine(b, text[:0])
			if errors.Is(err, io.EOF) && len(text) == 0 {
				return
			}
			if err == nil && !utf8.Valid(text) {
				err = errors.New("it is not valid UTF-8")
			}
			if err != nil && !errors.Is(err, io.EOF) {
				yield(Line{}, fmt.Errorf("%s line %d: %w", name, number, err))
				return
			}
			if !yield(Line{number, text, b.Buffered() == 0}, nil) || err != nil {
				return
			}
		}
	}
}

// ReadLines reads what every line of the file of --input says, but for empty ones, and returns the
// name of the file too. source names the file and the line, as the error does.
func ReadLines[T any](
	ctx context.Context, k *Kit, path string, read func(text []byte, source string) (T, error),
) (all []T, name string, err error) {
	input, name, err := k.OpenInput(ctx, path)
	if err != nil {
		return nil, name, fmt.Errorf("--input: %w", err)
	}
	defer input.Close()
	for l, err := range Lines(input, name) {
		if err != nil {
			return nil, name, err
		}
		if len(bytes.TrimSpace(l.Text)) == 0 {
			continue
		}
		source := fmt.Sprintf("%s line %d", name, l.Number)
		one, err := read(l.Text, source)
		if err != nil {
			return nil, name, fmt.Errorf("%s: %w", source, err)
		}
		all = append(all, one)
	}
	return all, name, nil
}

// readLine appends a line to text. The error is io.EOF after the last one, which need not end in a
// line break.
func readLine(b *bufio.Reader, text []byte) ([]byte, error) {
	for {
		piece, err := b.ReadSlice('\n')
		if len(text)+len(piece) > maxLine {
			return text, fmt.Errorf("it has more than %d bytes, the limit is %d (%d MiB); split "+
				"it into lines",
				maxLine, maxLine, maxLine>>20)
		}
		text = append(text, piece...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		text = bytes.TrimSuffix(text, []byte("\n"))
		if err == nil || len(text) > 0 && errors.Is(err, io.EOF) {
			return bytes.TrimSuffix(text, []byte("\r")), nil
		}
		return text, err
	}
}
