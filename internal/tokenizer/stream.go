package tokenizer

import (
	"errors"
	"iter"
)

// Each yields the tokens of [Tokenizer.Encode] from left to right; the caller may end the loop
// early. It keeps a few thousand tokens at a time, so the memory for a text of n bytes is about
// 10·n if a normalizer changes the text, and less if none does. A post_processor that repeats the
// text or leaves it out needs the memory of all tokens. The last value may be an error, as of
// [Tokenizer.Encode].
func (t *Tokenizer) Each(text string, addSpecials bool) iter.Seq2[Encoded, error] {
	return func(yield func(Encoded, error) bool) {
		err := t.chunks(text, addSpecials, func(tokens []token) bool {
			for _, tok := range tokens {
				if !yield(tok.Encoded, nil) {
					return false
				}
			}
			return true
		})
		if err != nil && !errors.Is(err, errEnded) {
			yield(Encoded{}, err)
		}
	}
}

// errEnded means that the caller ended the loop.
var errEnded = pkg.Errorf("the caller wants no more tokens")

// chunkTokens is how many tokens are finished at a time.
const chunkTokens = 4096

// chunks yields the finished tokens of a text in chunks. A chunk is valid until the next one.
func (t *Tokenizer) chunks(text string, addSpecials bool, yield func([]token) bool) error {
	m := newMeter(len(text))
	plan, err := t.post.plan(addSpecials, m)
	if err != nil {
		return pkg.Errorf("%w", err)
	}
	// The text appears several times or never, so its tokens must all be known.
	if !plan.streams {
		tokens, err := t.encodeWhole(text, addSpecials, m)
		if err != nil {
			return pkg.Errorf("%w", err)
		}
		if !yield(tokens) {
			return errEnded
		}
		return nil
	}
	// what the post-processors put before the text, such as <bos>
	if !yield(plan.before) {
		return errEnded
	}
	// done is how many tokens of the text have been yielded; a trim must know the first of all.
	done := 0
	w := encodeWork{Tokenizer: t, meter: m, tokens: make([]token, 0, min(len(text)/4+2,
		chunkTokens))}
	w.flush = func() error {
		for _, trim := range plan.trims {
			if err := trimOffsets(text, w.tokens, trim.addPrefixSpace, trim.index+done,
				m); err != nil {
				return trim.wrap(err)
			}
		}
		done += len(w.tokens)
		if !yield(w.tokens) {
			return errEnded
		}
		// The memory is used again, so a chunk ends here.
		w.tokens = w.tokens[:0]
		return nil
	}
	if err := w.run(text); err != nil {
		if errors.Is(err, errEnded) {
			return err
		}
		return pkg.Errorf("%w", err)
	}
	if !yield(plan.after) {
		return errEnded
	}
	return nil
}

// encodeWhole returns the finished tokens of a text, for a post_processor that needs them all at
// once.
func (t *Tokenizer) encodeWhole(text string, addSpecials bool, m *meter) ([]token, error) {
	tokens, err := t.tokens(text, m)
	if err != nil {
		return nil, err
	}
	return t.finish(text, [][]token{tokens}, addSpecials, m)
}

// tokens returns the tokens of a text before post-processing.
func (t *Tokenizer) tokens(text string, m *meter) ([]token, error) {
	w := encodeWork{Tokenizer: t, meter: m, tokens: make([]token, 0, len(text)/4+2)}
	if err := w.run(text); err != nil {
		return nil, err
	}
	return w.tokens, nil
}

// encodeWork is the encoding of one text. After an error nothing more is done. A text goes through
// four steps: added tokens in the text as given, normalizer, added tokens in the normalised text,
// and pre-tokenizer with model.
type encodeWork struct {
	*Tokenizer
	meter  *meter
	tokens []token
	flush  func() error // empties tokens; nil to keep all
	err    error
}

// run adds the tokens of a text. The functions that find matches cannot be stopped, so the first
// error is kept in err and the rest of the text is passed over.
func (w *encodeWork) run(text string) error {
	if len(text) > maxText {
		return errTextSize(len(text))
	}
	err := w.added.plain.find(text, w.meter, func(begin, end, id int) {
		p := piece{text: text[begin:end], input: text, at: begin, follows: w.follows && begin == 0}
		if id >= 0 {
			w.addToken(p, id)
			return
		}
		w.addNormalized(p)
	})
	if w.err == nil {
		w.err = err
	}
	if w.err == nil && w.flush != nil {
		w.err = w.flush()
	}
	return w.err
}

// flushIfFull passes the tokens on if there are many.
func (w *encodeWork) flushIfFull() {
	if w.flush != nil && len(w.tokens) >= chunkTokens && w.err == nil {
		w.err = w.flush()
	}
}

// addToken adds the added token that p matches.
func (w *encodeWork) addToken(p piece, id int) {
	if w.err != nil {
		return
	}
	begin, end := p.offsets(0, len(p.text))
	special := w.vocab.entries[id].special
	w.tokens = append(w.tokens, token{
		Encoded: Encoded{ID: id, Begin: begin, End: end, Special: special}, text: p.text,
	})
	w.flushIfFull()
}

// addNormalized normalises a part of the text and adds its tokens.
func (w *encodeWork) addNormalized(p piece) {
	if w.err == nil && len(w.normalizer) > 0 {
		p, w.err = w.normalizer.normalize(p, w.meter)
	}
	if w.err != nil || p.text == "" {
		return
	}
	err := w.added.normalized.find(p.text, w.meter, func(begin, end, id int) {
		if id >= 0 {
			w.addToken(p.slice(begin, end), id)
			return
		}
		w.addWords(p.slice(begin, end))
	})
	if w.err == nil {
		w.err = err
	}
}

// addWords adds the tokens of a part of the normalised text.
func (w *encodeWork) addWords(p piece) {
	if w.err != nil {
		return
	}
	err := w.pre.split(p, w.meter, func(word piece) {
		if w.err == nil && word.text != "" {
			if err := w.model.tokenize(w, word); w.err == nil {
				w.err = err
			}
		}
	})
	if w.err == nil {
		w.err = err
	}
}

// add adds the tokens of a word that begins at byte at of p. The text of the token unk is the text
// that it stands for.
func (w *encodeWork) add(p piece, at int32, parts []part, contents []string, unk int32) {
	for _, t := range parts {
		i, j := int(at+t.begin), int(at+t.end)
		// From bytes of the normalised text to bytes of the text as given.
		begin, end := p.offsets(i, j)
		text, id := contents[t.id], int(w.idOf(t.id))
		if t.id == unk {
			text = p.text[i:j]
			if known, ok := w.vocab.ids[text]; ok && w.ids != nil {
				id = known
			}
		}
		w.tokens = append(w.tokens, token{
			Encoded: Encoded{ID: id, Begin: begin, End: end},
			text:    text,
		})
		if len(w.tokens) >= chunkTokens {
			if w.flushIfFull(); w.err != nil {
				return
			}
		}
	}
}
