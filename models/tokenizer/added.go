package tokenizer

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// addedTokens finds the added tokens of a text. Those that are to be found in the text as it is come first, and those
// that are to be found in the normalised text are then looked for between them.
type addedTokens struct {
	plain, normalized *matcher
	spelled           map[int]string // what normalisation makes of a token, where it is another text
	special           map[string]bool
}

// maxAddedLen is the length of the longest added token, in bytes. It bounds the time that looking for them takes.
const maxAddedLen = 1024

// newAddedTokens takes the added tokens of a file; n is its normalizer or nil.
func newAddedTokens(tokens []addedToken, n normalizer) (*addedTokens, error) {
	a := &addedTokens{newMatcher(), newMatcher(), map[int]string{}, map[string]bool{}}
	seen := make(map[string]bool, len(tokens))
	for _, t := range tokens {
		switch {
		case t.Content == "":
			return nil, fmt.Errorf("added_tokens: token %d is empty; remove it", t.ID)
		case len(t.Content) > maxAddedLen:
			return nil, fmt.Errorf("added_tokens: token %d has %d bytes, the limit is %d", t.ID, len(t.Content), maxAddedLen)
		case seen[t.Content]:
			return nil, fmt.Errorf("added_tokens: token %q is there twice", t.Content)
		}
		seen[t.Content] = true
		if t.Special {
			a.special[t.Content] = true
		}
		if !t.Normalized {
			a.plain.insert(t.Content, t)
			continue
		}
		content, err := normalizeText(n, t.Content)
		if err != nil {
			return nil, fmt.Errorf("added_tokens: token %q: %w", t.Content, err)
		}
		if len(content) > 4*maxAddedLen {
			return nil, fmt.Errorf("added_tokens: token %q has %d bytes when normalised, the limit is %d", t.Content, len(content), 4*maxAddedLen)
		}
		if content != t.Content {
			a.spelled[int(t.ID)] = content
		}
		if content == "" { // Hugging Face finds it between all bytes then, and may crash
			return nil, fmt.Errorf("added_tokens: normalisation leaves nothing of token %q; set normalized to false", t.Content)
		}
		a.normalized.insert(content, t)
	}
	return a, nil
}

func normalizeText(n normalizer, text string) (string, error) {
	if n == nil {
		return text, nil
	}
	p, err := n.normalize(piece{text: text, input: text})
	return p.text, err
}

// matcher is a trie of token contents, which finds the leftmost and of those the longest. Node 0 is the root.
type matcher struct {
	nodes []node
	first [256]bool // a content begins with this byte
}

type node struct {
	next  map[byte]int
	token *addedToken
	size  int // of the content that ends here
}

func newMatcher() *matcher { return &matcher{nodes: make([]node, 1)} }

// insert makes t be found where content stands. Of two tokens with one content the later is found (there it is a matter of
// chance).
func (m *matcher) insert(content string, t addedToken) {
	at := 0
	for i := range len(content) {
		to, ok := m.nodes[at].next[content[i]]
		if !ok {
			to = len(m.nodes)
			if m.nodes[at].next == nil {
				m.nodes[at].next = make(map[byte]int)
			}
			m.nodes[at].next[content[i]] = to
			m.nodes = append(m.nodes, node{})
		}
		at = to
	}
	m.nodes[at].token, m.nodes[at].size = &t, len(content)
	m.first[content[0]] = true
}

// longest returns the longest token at the start of s, or nil, and the length of its content.
func (m *matcher) longest(s string) (found *addedToken, size int) {
	at := 0
	for i := range len(s) {
		to, ok := m.nodes[at].next[s[i]]
		if !ok {
			break
		}
		at = to
		if t := m.nodes[at].token; t != nil {
			found, size = t, m.nodes[at].size
		}
	}
	return found, size
}

// cut yields the tokens in s with their ids and what lies between with id -1. A token that is not a single word, but
// must be one, is text. As in Hugging Face the search goes on after the content of a token, not after the white space
// that it took along: a token of white space is found in there once more.
func (m *matcher) cut(s string, yield func(begin, end, id int)) {
	if len(m.nodes) == 1 {
		if s != "" {
			yield(0, len(s), -1)
		}
		return
	}
	done, blank := 0, span{}
	for i := 0; i < len(s); {
		if !m.first[s[i]] {
			i++
			continue
		}
		t, size := m.longest(s[i:])
		if t == nil {
			i++
			continue
		}
		begin, end := i, i+size
		i = end
		if t.SingleWord && (wordBefore(s[:begin]) || wordAfter(s[end:])) {
			continue
		}
		if t.LStrip {
			begin = max(blankBefore(s, begin, min(done, begin)), done)
		}
		if t.RStrip {
			if end < blank.begin || end >= blank.end {
				blank = span{end, blankAfter(s, end)}
			}
			end = blank.end
		}
		if begin >= end { // an empty one is dropped, and a negative one is a crash there
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
}

type span struct{ begin, end int }

// blankBefore is where the white space that ends at i begins, not before limit.
func blankBefore(s string, i, limit int) int {
	for i > limit {
		r, size := utf8.DecodeLastRuneInString(s[limit:i])
		if !unicode.Is(unicode.White_Space, r) {
			break
		}
		i -= size
	}
	return i
}

// blankAfter is where the white space that begins at i ends.
func blankAfter(s string, i int) int {
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		if !unicode.Is(unicode.White_Space, r) {
			break
		}
		i += size
	}
	return i
}

func wordBefore(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return s != "" && isWordChar(r)
}

func wordAfter(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return s != "" && isWordChar(r)
}

// wordKind is the class of the first character of s and its length: letter for what is part of a word, space, or other.
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

// isWordChar is \w of Unicode (UTS 18, annex C): alphabetic, mark, decimal number, connector, join control.
func isWordChar(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc,
		unicode.Other_Alphabetic, unicode.Join_Control, newLetters, newNumbers, newMarks)
}
