package evaluate

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
)

// MinimalPair is a line of a file of BLiMP (Warstadt et al. 2020): two sentences that differ in one
// word, of which the first is grammatical. Keys of BLiMP that are not here are ignored.
type MinimalPair struct {
	Good string `json:"sentence_good"`
	Bad  string `json:"sentence_bad"`
	// Field and Term are the field of linguistics, such as morphology, and the phenomenon, such as
	// anaphor_agreement. UID names the paradigm, of which BLiMP has 67.
	Field string `json:"field,omitempty"`
	Term  string `json:"linguistics_term,omitempty"`
	UID   string `json:"UID,omitempty"`
	// Evidence are bytes [begin,end) of the good sentence: the cues, which decide between the
	// words. BLiMP has none; it is an addition.
	Evidence [][2]int `json:"evidence,omitempty"`
}

// ParseMinimalPair reads one line. The error names the key that is missing or wrong.
func ParseMinimalPair(line []byte) (p MinimalPair, err error) {
	if err := json.Unmarshal(line, &p); err != nil {
		return p, fmt.Errorf("it is no minimal pair of BLiMP: %w", err)
	}
	switch {
	case p.Good == "":
		return p, errors.New(`it has no "sentence_good"`)
	case p.Bad == "":
		return p, errors.New(`it has no "sentence_bad"`)
	case p.Good == p.Bad:
		return p, fmt.Errorf("both sentences are %.60q; they must differ in one word", p.Good)
	}
	for i, s := range p.Evidence {
		if s[0] < 0 || s[0] >= s[1] || s[1] > len(p.Good) {
			return p, fmt.Errorf(`"evidence", number %d: bytes %d to %d of a sentence of %d `+
				"bytes; want a begin before the end, and the end in the sentence", i+1, s[0], s[1],
				len(p.Good))
		}
	}
	return p, nil
}

// Words returns the two words, and the bytes [begin,end) of the good one. ok is false if the
// sentences differ in more than one word.
func (p MinimalPair) Words() (good, bad string, begin, end int, ok bool) {
	for begin < min(len(p.Good), len(p.Bad)) && p.Good[begin] == p.Bad[begin] {
		begin++
	}
	for begin > 0 && begin < len(p.Good) && !utf8.RuneStart(p.Good[begin]) {
		begin-- // two characters can begin with the same bytes
	}
	same := 0 // bytes at the end
	for same < min(len(p.Good), len(p.Bad))-begin &&
		p.Good[len(p.Good)-1-same] == p.Bad[len(p.Bad)-1-same] {
		same++
	}
	for same > 0 && !utf8.RuneStart(p.Good[len(p.Good)-same]) {
		same-- // or end with them
	}
	// The difference may lie within a word.
	for begin > 0 {
		r, n := utf8.DecodeLastRuneInString(p.Good[:begin])
		if !inWord(r) {
			break
		}
		begin -= n
	}
	for same > 0 {
		r, n := utf8.DecodeRuneInString(p.Good[len(p.Good)-same:])
		if !inWord(r) {
			break
		}
		same -= n
	}
	end = len(p.Good) - same
	good, bad = p.Good[begin:end], p.Bad[begin:len(p.Bad)-same]
	word := func(s string) bool {
		return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !inWord(r) })
	}
	return good, bad, begin, end, word(good) && word(bad)
}

// inWord reports whether a character belongs to a word.
func inWord(r rune) bool {
	return units.InWord(r) || strings.ContainsRune("'’-", r)
}

// maskTexts are the texts that mask tokens have.
var maskTexts = []string{"[MASK]", "<mask>"}

// Case returns the pair as a case for a model: with the mask token in the place of the word for
// encoders, and for decoders the text before the word, with the two words as continuation and
// contrast. Evidence that is not in that text is left out. The group is the UID.
//
// reason is why there is no case: the sentences differ in more than one word, or the model is a
// decoder and the word is the first one. The error is one of the model: an encoder without a mask
// token whose text is known.
func (p MinimalPair) Case(m trace.Model) (c Case, reason string, err error) {
	good, bad, begin, end, ok := p.Words()
	if !ok {
		return c, fmt.Sprintf("%.60q and %.60q differ in more than one word", p.Good, p.Bad), nil
	}
	c = Case{Group: p.UID, Continuation: good, Contrast: bad}
	if !m.Info().Bidirectional {
		c.Prompt = strings.TrimRight(p.Good[:begin], " ")
		if c.Prompt == "" {
			return Case{}, fmt.Sprintf("%.60q differs in its first word", p.Good), nil
		}
		c.Continuation, c.Contrast = p.Good[len(c.Prompt):end], p.Good[len(c.Prompt):begin]+bad
		for _, s := range p.Evidence {
			if s[1] <= len(c.Prompt) {
				c.Evidence = append(c.Evidence, s)
			}
		}
		return c, "", nil
	}
	mask, err := maskText(m)
	if err != nil {
		return Case{}, "", err
	}
	c.Prompt = p.Good[:begin] + mask + p.Good[end:]
	for _, s := range p.Evidence {
		switch {
		case s[1] <= begin:
			c.Evidence = append(c.Evidence, s)
		case s[0] >= end:
			by := len(mask) - len(good)
			c.Evidence = append(c.Evidence, [2]int{s[0] + by, s[1] + by})
		}
	}
	return c, "", nil
}

// maskText returns the text that the tokenizer of a model reads as its mask token.
func maskText(m trace.Model) (string, error) {
	if r, ok := m.(trace.Replacer); ok {
		if id, ok := r.Replacement("mask"); ok {
			for _, text := range maskTexts {
				tokens, err := m.Encode(text, trace.SpecialsOff)
				if err == nil && len(tokens) == 1 && tokens[0].ID == id {
					return text, nil
				}
			}
		}
	}
	return "", pkg.Errorf("%s has no mask token for the word of a minimal pair", m.Info().Name)
}
