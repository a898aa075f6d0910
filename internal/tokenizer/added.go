package tokenizer

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// addedTokens finds the added tokens in a text. First it looks for those that match the text as it
// is given, then between them for those that match the normalised text.
type addedTokens struct {
	plain, normalized *matcher
	normalizedContent map[int]string // by id, if it differs from the content
	special           map[string]bool
}

// maxAddedLen is the length of the longest added token, in bytes. It bounds the time of the search.
const maxAddedLen = 1024

// addedSteps is how many steps the normalizer may take for each byte of the added tokens. A
// normalizer of ten parts takes about 30.
const addedSteps = 64

// newAddedTokens makes the search for the added tokens of a file, which has the normalizer n.
func newAddedTokens(tokens []addedToken, n normalizers) (*addedTokens, error) {
	a := &addedTokens{normalizedContent: map[int]string{}, special: map[string]bool{}}
	// Each token is in one of the two searches.
	var plain, normalized []trieItem
	seen := make(map[string]bool, len(tokens))
	total := 0
	for _, t := range tokens {
		switch {
		case t.Content == "":
			return nil, fmt.Errorf("added_tokens: token %d is empty; remove it", t.ID)
		case len(t.Content) > maxAddedLen:
			return nil, fmt.Errorf("added_tokens: token %d (%.40q...) has %d bytes, the limit "+
				"is %d", t.ID, t.Content, len(t.Content), maxAddedLen)
		case seen[t.Content]:
			return nil, fmt.Errorf("added_tokens: token %.80q is listed twice", t.Content)
		}
		seen[t.Content] = true
		total += len(t.Content)
	}
	// One budget of steps for all of them, as a file may have 100000, and one of bytes for each.
	m := &meter{maxSteps: smallSteps + addedSteps*total, maxGrown: 8 * maxAddedLen}
	for i, t := range tokens {
		if t.Special {
			a.special[t.Content] = true
		}
		if !t.Normalized {
			plain = append(plain, trieItem{t.Content, int32(i)})
			continue
		}
		// The steps go on, the growth begins again.
		m.input, m.grown = len(t.Content), 0
		p, err := n.normalize(piece{text: t.Content, input: t.Content}, m)
		if err != nil {
			return nil, fmt.Errorf("added_tokens: token %.80q: %w", t.Content, err)
		}
		content := p.text
		if len(content) > 4*maxAddedLen {
			return nil, fmt.Errorf("added_tokens: token %.80q has %d bytes when normalised, the "+
				"limit is %d", t.Content, len(content), 4*maxAddedLen)
		}
		if content != t.Content {
			a.normalizedContent[int(t.ID)] = content
		}
		if content == "" { // Hugging Face would find it between all bytes, and may crash
			return nil, fmt.Errorf("added_tokens: the normalizer removes all of token %.80q; "+
				"set normalized to false", t.Content)
		}
		normalized = append(normalized, trieItem{content, int32(i)})
	}
	a.plain, a.normalized = newMatcher(plain, tokens), newMatcher(normalized, tokens)
	return a, nil
}

// matcher finds the leftmost token, and the longest of those that begin there. Of two tokens with
// the same content it finds the later one (the reference finds one or the other).
type matcher struct {
	trie   *trie // its ids are indexes of tokens
	tokens []addedToken
	empty  bool
}

// newMatcher makes the search for items, whose ids are indexes of tokens.
func newMatcher(items []trieItem, tokens []addedToken) *matcher {
	return &matcher{makeTrie(items), tokens, len(items) == 0}
}

// addedPlace is where the added tokens are in the file, for errors.
var addedPlace = place{"added_tokens", "tokens to look for in the text"}

// find yields the tokens in s with their ids, and the text between them with id -1. A token that
// must be a single word but is part of a longer one is text. As in Hugging Face the search
// continues after the content of a token, not after the white space that belongs to its match, so a
// token of white space is found there once more.
func (m *matcher) find(s string, work *meter, yield func(begin, end, id int)) error {
	if m.empty {
		if s != "" {
			yield(0, len(s), -1)
		}
		return nil
	}
	done, blank := 0, span{}
	for i := 0; i < len(s); {
		// Most bytes of a text begin no token.
		if m.trie.roots[s[i]] == noSymbol {
			i++
			continue
		}
		size, found, visited := m.trie.longest(s[i:])
		if err := work.step(visited); err != nil {
			return addedPlace.wrap(err)
		}
		if size == 0 {
			i++
			continue
		}
		t := &m.tokens[found]
		begin, end := i, i+size
		i = end
		if t.SingleWord && (wordBefore(s[:begin]) || wordAfter(s[end:])) {
			continue
		}
		if t.LStrip {
			begin = max(spaceStart(s, begin, min(done, begin)), done)
		}
		// blank is the last white space that was measured. Tokens may be so many that measuring it
		// again for each would take quadratic time.
		if t.RStrip {
			if end < blank.begin || end >= blank.end {
				blank = span{end, spaceEnd(s, end)}
			}
			end = blank.end
		}
		if begin >= end { // an empty match is dropped; a negative length crashes the reference
			continue
		}
		if done < begin {
			yield(done, begin, -1)
		}
		yield(begin, end, int(t.ID))
		done = end
	}
	if done < len(s) {
		yield(done, len(s), -1)
	}
	return nil
}

type span struct{ begin, end int }

// spaceStart returns where the white space that ends at byte i begins, but at least limit.
func spaceStart(s string, i, limit int) int {
	for i > limit {
		r, size := utf8.DecodeLastRuneInString(s[limit:i])
		if !unicode.Is(unicode.White_Space, r) {
			break
		}
		i -= size
	}
	return i
}

// spaceEnd returns where the white space that begins at byte i ends.
func spaceEnd(s string, i int) int {
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		if !unicode.Is(unicode.White_Space, r) {
			break
		}
		i += size
	}
	return i
}

// wordBefore and wordAfter report whether s ends or begins with a part of a word.
func wordBefore(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return s != "" && isWordChar(r)
}

func wordAfter(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return s != "" && isWordChar(r)
}

// wordKind returns the class of the first character of s and its length: letter for a part of a
// word, space, or other.
func wordKind(s string) (charClass, int) {
	r, size := decodeRune(s)
	switch {
	case isSpace(r):
		return space, size
	case isWordChar(r):
		return letter, size
	}
	return other, size
}

// isWordChar is \w by Unicode (UTS 18, annex C): alphabetic, mark, decimal number, connector or
// join control.
func isWordChar(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc,
		unicode.Other_Alphabetic, unicode.Join_Control) ||
		newLetters.has(r) || newNumbers.has(r) || newMarks.has(r)
}
