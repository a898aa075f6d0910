package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Input is a text, or a pair of texts that a model takes together.
type Input struct {
	Text string
	// Pair is the second text; nil if there is none.
	Pair *string
}

// BatchOptions says what [Tokenizer.EncodeBatch] does. The zero value does what the file says.
type BatchOptions struct {
	// NoSpecials leaves out the control tokens that the file's post_processor puts around texts.
	NoSpecials bool
	// Truncation is how long an input may be; nil is what the file says.
	Truncation *Truncation
	// Padding is how inputs become equally long; nil is what the file says.
	Padding *Padding
	// IgnoreFile does not truncate or pad where the file says so, but only where the caller does.
	IgnoreFile bool
}

// Truncation is how inputs that are too long are cut.
type Truncation struct {
	// MaxLength is the most tokens of an input, control tokens counted.
	MaxLength int
	// Strategy is which text of a pair is cut: "LongestFirst" (also if empty), "OnlyFirst" or "OnlySecond".
	Strategy string
	// Left cuts at the beginning.
	Left bool
}

// Padding is how inputs that are too short are filled up.
type Padding struct {
	// Length is how long each input is; 0 is as long as the longest of the batch.
	Length int
	// MultipleOf makes the length a multiple of this, if it is more than 0.
	MultipleOf int
	// Left puts the padding at the beginning.
	Left bool
	// ID and TypeID are those of the padding.
	ID, TypeID int
}

// Encoding is an input of a batch.
type Encoding struct {
	// Tokens are the tokens of the input; offsets are those in their text of a pair. Padding is special.
	Tokens []Encoded
	// TypeIDs are which text each token is of, as the file's post_processor numbers them.
	TypeIDs []int
	// Mask is false for padding: a model must not look there.
	Mask []bool
}

const (
	// maxPadded is the largest number of tokens to pad to.
	maxPadded = 1 << 20
	// A batch may have so many tokens of padding in all, or so many for each input.
	maxPadding      = 1 << 22
	maxPaddingInput = 1 << 13
)

// EncodeBatch returns the tokens of each input, cut and padded. It returns an error where [Tokenizer.Encode] does, and if
// an input cannot be cut or padded as it should.
func (t *Tokenizer) EncodeBatch(inputs []Input, opts BatchOptions) ([]Encoding, error) {
	truncation, padding := opts.Truncation, opts.Padding
	if !opts.IgnoreFile {
		if truncation == nil {
			truncation = t.truncation
		}
		if padding == nil {
			padding = t.padding
		}
	}
	batch := make([]Encoding, len(inputs))
	for i, in := range inputs {
		var err error
		if batch[i], err = t.encodeInput(in, truncation, !opts.NoSpecials); err != nil {
			return nil, fmt.Errorf("tokenizer: input %d: %w", i, err)
		}
	}
	if padding != nil {
		if err := pad(batch, *padding); err != nil {
			return nil, fmt.Errorf("tokenizer: padding: %w", err)
		}
	}
	return batch, nil
}

func (t *Tokenizer) encodeInput(in Input, truncation *Truncation, specials bool) (Encoding, error) {
	texts := [2]string{in.Text}
	lists := make([][]token, 1, 2)
	var err error
	m := newMeter(len(in.Text))
	if lists[0], err = t.tokens(in.Text, false, m); err != nil {
		return Encoding{}, err
	}
	if in.Pair != nil {
		texts[1] = *in.Pair
		if m, err = m.with(len(*in.Pair)); err != nil {
			return Encoding{}, err
		}
		second, err := t.tokens(*in.Pair, true, m)
		if err != nil {
			return Encoding{}, err
		}
		lists = append(lists, second)
	}
	if truncation != nil {
		limit := truncation.MaxLength
		if specials {
			limit -= t.post.added(in.Pair != nil)
		}
		if lists, err = truncation.cut(lists, limit); err != nil {
			return Encoding{}, fmt.Errorf("truncation: %w", err)
		}
	}
	tokens, err := t.finish(texts, lists, specials, m)
	if err != nil {
		return Encoding{}, err
	}
	n := len(tokens)
	e := Encoding{make([]Encoded, n), make([]int, n), make([]bool, n)}
	for i, tok := range tokens {
		e.Tokens[i], e.TypeIDs[i], e.Mask[i] = tok.Encoded, int(tok.typeID), true
	}
	return e, nil
}

// cut leaves limit tokens of all lists together.
func (t Truncation) cut(lists [][]token, limit int) ([][]token, error) {
	total := 0
	for _, l := range lists {
		total += len(l)
	}
	if limit < 0 {
		return nil, fmt.Errorf("%d tokens leave no room for the control tokens", t.MaxLength)
	}
	over := total - limit
	if over <= 0 {
		return lists, nil
	}
	keep := make([]int, len(lists))
	for i, l := range lists {
		keep[i] = len(l)
	}
	switch {
	case limit == 0:
		clear(keep)
	case t.Strategy == "" || t.Strategy == "LongestFirst":
		longestFirst(keep, limit)
	case t.Strategy == "OnlyFirst":
		keep[0] -= over
	case t.Strategy == "OnlySecond" && len(lists) < 2:
		return nil, errors.New("OnlySecond needs a pair")
	case t.Strategy == "OnlySecond":
		keep[1] -= over
	default:
		return nil, fmt.Errorf("strategy %.80q is not LongestFirst, OnlyFirst or OnlySecond", t.Strategy)
	}
	for i, l := range lists {
		if keep[i] < 0 || keep[i] == 0 && limit > 0 && t.Strategy != "" && t.Strategy != "LongestFirst" && len(l) > 0 {
			return nil, fmt.Errorf("%s: text %d has %d tokens, too few to take %d away", t.Strategy, i, len(l), over)
		}
		if t.Left {
			lists[i] = l[len(l)-keep[i]:]
		} else {
			lists[i] = l[:keep[i]]
		}
	}
	return lists, nil
}

// longestFirst shortens the longer text to what the shorter one leaves, or both to one half.
func longestFirst(keep []int, limit int) {
	if len(keep) == 1 {
		keep[0] = limit
		return
	}
	short, long := 0, 1
	if keep[0] > keep[1] {
		short, long = 1, 0
	}
	if n := keep[short]; n > limit {
		keep[long] = n
	} else {
		keep[long] = max(n, limit-n)
	}
	if keep[0]+keep[1] > limit {
		keep[short] = limit / 2
		keep[long] = limit/2 + limit%2
	}
}

// pad fills the inputs of a batch up.
func pad(batch []Encoding, p Padding) error {
	length := p.Length
	if length == 0 {
		for _, e := range batch {
			length = max(length, len(e.Tokens))
		}
	}
	if p.MultipleOf > 0 && p.MultipleOf <= maxPadded && length <= maxPadded {
		length = (length + p.MultipleOf - 1) / p.MultipleOf * p.MultipleOf
	}
	if length < 0 || length > maxPadded || p.MultipleOf > maxPadded {
		return fmt.Errorf("length %d (a multiple of %d) is not from 0 to %d", length, p.MultipleOf, maxPadded)
	}
	total := 0
	for _, e := range batch {
		total += max(length-len(e.Tokens), 0) // below 2^20 each
	}
	if most := max(maxPadding, maxPaddingInput*len(batch)); total > most {
		return fmt.Errorf("%d inputs padded to length %d have %d tokens of padding, the limit "+
			"is %d; pad to a smaller length",
			len(batch), length, total, most)
	}
	for i := range batch {
		e := &batch[i]
		n := max(length-len(e.Tokens), 0)
		e.Tokens = fill(e.Tokens, n, Encoded{ID: p.ID, Special: true}, p.Left)
		e.TypeIDs = fill(e.TypeIDs, n, p.TypeID, p.Left)
		e.Mask = fill(e.Mask, n, false, p.Left)
	}
	return nil
}

// fill puts value n times at the end of s, or at its start if left.
func fill[T any](s []T, n int, value T, left bool) []T {
	if n == 0 {
		return s
	}
	filled := make([]T, 0, len(s)+n)
	if !left {
		filled = append(filled, s...)
	}
	for range n {
		filled = append(filled, value)
	}
	if left {
		filled = append(filled, s...)
	}
	return filled
}

// parseTruncation reads the section truncation; nil if there is none.
func parseTruncation(raw json.RawMessage) (*Truncation, error) {
	if isNull(raw) {
		return nil, nil
	}
	var f struct {
		Direction *string `json:"direction"`
		MaxLength *uint32 `json:"max_length"`
		Strategy  string  `json:"strategy"`
		Stride    *uint32 `json:"stride"` // of the pieces that are cut off, which no one gets here
	}
	if err := decodeStrict(raw, &f); err != nil {
		return nil, err
	}
	if f.MaxLength == nil || f.Stride == nil {
		return nil, errors.New("max_length and stride are needed")
	}
	left, err := isLeft(f.Direction)
	switch f.Strategy {
	case "LongestFirst", "OnlyFirst", "OnlySecond":
	default:
		return nil, &UnsupportedError{"strategy", fmt.Sprintf("%.80q", f.Strategy), []string{"LongestFirst", "OnlyFirst", "OnlySecond"}}
	}
	return &Truncation{int(*f.MaxLength), f.Strategy, left}, err
}

// parsePadding reads the section padding; nil if there is none.
func parsePadding(raw json.RawMessage) (*Padding, error) {
	if isNull(raw) {
		return nil, nil
	}
	var f struct {
		Strategy   json.RawMessage `json:"strategy"`
		Direction  *string         `json:"direction"`
		MultipleOf *uint32         `json:"pad_to_multiple_of"`
		ID         *uint32         `json:"pad_id"`
		TypeID     *uint32         `json:"pad_type_id"`
		Token      *string         `json:"pad_token"` // the content of pad_id
	}
	if err := decodeStrict(raw, &f); err != nil {
		return nil, err
	}
	if f.Direction == nil || f.ID == nil || f.TypeID == nil || f.Token == nil {
		return nil, errors.New("strategy, direction, pad_id, pad_type_id and pad_token are needed")
	}
	p := &Padding{ID: int(*f.ID), TypeID: int(*f.TypeID)}
	if f.MultipleOf != nil {
		p.MultipleOf = int(*f.MultipleOf)
	}
	if !bytes.Equal(f.Strategy, []byte(`"BatchLongest"`)) {
		var fixed struct{ Fixed *uint32 }
		if err := decodeStrict(f.Strategy, &fixed); err != nil || fixed.Fixed == nil {
			return nil, &UnsupportedError{"strategy", fmt.Sprintf("%.80s", f.Strategy), []string{`"BatchLongest"`, `{"Fixed":n}`}}
		}
		p.Length = int(*fixed.Fixed)
	}
	var err error
	p.Left, err = isLeft(f.Direction)
	return p, err
}

func isLeft(direction *string) (bool, error) {
	switch {
	case direction == nil, *direction == "Right":
		return false, nil
	case *direction == "Left":
		return true, nil
	}
	return false, &UnsupportedError{"direction", fmt.Sprintf("%.80q", *direction), []string{"Left", "Right"}}
}
