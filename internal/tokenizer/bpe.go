package tokenizer

import (
	"fmt"
	"strings"
)

// bpe is byte pair encoding: a word starts as one symbol for each byte or character, and the
// neighbours with the lowest rank are merged until no pair has a rank. Of equal ranks the leftmost
// is merged first.
type bpe struct {
	file      bpeFile
	contents  []string         // by id
	symbols   *[256]int32      // by byte, if words are spelled in bytes
	chars     map[rune]int32   // by character, if words are text; see ids for prefix and suffix
	ids       map[string]int32 // of the tokens of the model
	merges    map[pair]merge
	bytes     *[256]int32 // with byte_fallback: the token of each byte
	unk       int32       // the unknown token, or noSymbol
	cutBefore string      // see findCutBefore; may be empty
	cache     wordCache
}

// noSymbol is the id of a symbol that the vocabulary lacks.
const noSymbol = -1

// pair is two neighbouring symbols, by id.
type pair struct{ left, right int32 }

// merge is the result of merging a pair, and its priority.
type merge struct {
	rank int32
	id   int32
}

// part is a token of a word: bytes [begin,end) of the word.
type part struct {
	id         int32
	begin, end int32
}

func (m *bpe) unknownID() int32 { return m.unk }

// tokenize adds the tokens of a word. A long word without white space is cut where no merge can
// join the two sides, so that its parts are found in the cache.
func (m *bpe) tokenize(w *encodeWork, word piece) error {
	for begin := 0; begin < len(word.text); {
		chunk := word.text[begin:]
		if m.cutBefore != "" {
			chunk = chunk[:m.chunkLen(chunk)]
		}
		parts, err := m.cache.parts(chunk, w.meter, m.encode)
		if err != nil {
			return err
		}
		w.add(word, int32(begin), parts, m.contents, noSymbol)
		begin += len(chunk)
	}
	return nil
}

// maxWord is the length of the longest word, in bytes. BPE and Unigram need about 50 bytes of
// memory for each byte of a word. Words this long appear only in text without white space, or if
// the file does not split the text.
const maxWord = 8 << 20

// errLongWord is the error for a word that is longer than maxWord.
func errLongWord(word string) error {
	return fmt.Errorf("the text has a word of %d bytes, %.40q..., the limit is %d; split the "+
		"text, "+
		"or let the pre_tokenizer of tokenizer.json split it", len(word), word, maxWord)
}

// wordToken returns the token that spells the whole word, and whether there is one.
func (m *bpe) wordToken(word string) (int32, bool) {
	if m.symbols != nil {
		word = contentOf(word)
	}
	id, ok := m.ids[word]
	return id, ok
}

// chunkLen returns the length of s up to the first place where it can be cut: before a cutBefore
// character that follows any other character.
func (m *bpe) chunkLen(s string) int {
	n := 0
	for strings.HasPrefix(s[n:], m.cutBefore) {
		n += len(m.cutBefore)
	}
	if i := strings.Index(s[n:], m.cutBefore); i >= 0 {
		return n + i
	}
	return len(s)
}

// encode divides a word: one symbol for each byte or character, then the merges. With ignore_merges
// a word that is a token as a whole stays whole.
func (m *bpe) encode(word string, _ *meter) ([]part, error) {
	if len(word) > maxWord {
		return nil, errLongWord(word)
	}
	if m.file.IgnoreMerges {
		if id, ok := m.wordToken(word); ok {
			return []part{{id, 0, int32(len(word))}}, nil
		}
	}
	spell := m.spell
	if m.symbols != nil {
		spell = m.spellBytes
	}
	parts, err := spell(word)
	if err != nil {
		return nil, err
	}
	return m.merge(parts), nil
}

// spellBytes returns one part for each byte. A byte without a symbol becomes the unknown token;
// with fuse_unk a run of such bytes becomes one.
func (m *bpe) spellBytes(word string) ([]part, error) {
	parts := make([]part, 0, len(word))
	inRun := false
	for i := range len(word) {
		id, begin, end := m.symbols[word[i]], int32(i), int32(i+1)
		switch {
		case id != noSymbol:
			parts = append(parts, part{id, begin, end})
		case inRun && m.file.FuseUnk:
			parts[len(parts)-1].end = end
		default:
			parts = append(parts, part{m.unk, begin, end})
		}
		inRun = id == noSymbol
	}
	return parts, nil
}

// spell returns one part for each character. A character without a symbol becomes its bytes, with
// byte_fallback and if all of them have tokens; else it becomes the unknown token, and with
// fuse_unk neighbours become one. If there is no unknown token, the character is left out and those
// after it take its offsets, as in Hugging Face.
func (m *bpe) spell(word string) ([]part, error) {
	s := speller{bpe: m, parts: make([]part, 0, len(word))}
	for i := 0; i < len(word); {
		r, size := decodeRune(word[i:])
		if err := s.char(word[i:i+size], r, i == 0, i+size == len(word)); err != nil {
			return nil, err
		}
		i += size
	}
	s.flush()
	return s.parts, nil
}

// speller looks up the symbols of one word.
type speller struct {
	*bpe
	parts   []part
	begin   int32 // of the next part
	unknown int32 // bytes of the unknown token that may still grow
}

func (s *speller) add(id, size int32) {
	s.parts = append(s.parts, part{id, s.begin, s.begin + size})
	s.begin += size
}

// flush ends the unknown token that may still grow.
func (s *speller) flush() {
	if s.unknown > 0 {
		s.add(s.unk, s.unknown)
		s.unknown = 0
	}
}

// char adds the symbol of one character. The order of the cases decides: a symbol, bytes, nothing,
// the unknown token.
func (s *speller) char(text string, r rune, first, last bool) error {
	size := int32(len(text))
	id, ok := s.chars[r]
	if prefix, suffix := s.file.prefix(), s.file.suffix(); !first && prefix != "" || last &&
		suffix != "" {
		if !first {
			text = prefix + text
		}
		if last {
			text += suffix
		}
		id, ok = s.ids[text]
	}
	switch {
	case ok:
		s.flush()
		s.add(id, size)
	case s.bytes != nil && allBytes(s.bytes, text):
		for i := range len(text) {
			s.add(s.bytes[text[i]], 1)
		}
	// left out; the next part begins where this character does
	case s.file.UnkToken == nil:
	case s.unk == noSymbol:
		return errUnknown(text, "model.unk_token", *s.file.UnkToken)
	default:
		if !s.file.FuseUnk {
			s.flush()
		}
		s.unknown += size
	}
	return nil
}

// merge merges the parts of a word in place. With a linked list of the parts that remain and a
// queue of pairs it takes O(n log n) steps in the worst case, a word that repeats one letter. The
// queue has the pair with the lowest rank first, and of equal ranks the leftmost one.
func (m *bpe) merge(parts []part) []part {
	w := mergeWork{
		bpe: m, parts: parts, prev: make([]int32, len(parts)),
		next: make([]int32, len(parts)),
	}
	for i := range parts {
		w.prev[i], w.next[i] = int32(i-1), int32(i+1)
	}
	for i := range len(parts) - 1 {
		w.enqueue(int32(i))
	}
	for len(w.queue) > 0 {
		w.apply(w.queue.pop())
	}
	// The parts that remain are in the order of the word, each where its first symbol was.
	left := parts[:0]
	for _, p := range parts {
		if p.id != noSymbol {
			left = append(left, p)
		}
	}
	return left
}

// mergeWork is a word while its parts are merged. A part that was merged into its left neighbour
// has the id noSymbol. Where there is no neighbour, prev is -1 and next is the number of parts.
type mergeWork struct {
	*bpe
	parts      []part
	prev, next []int32
	queue      queue[candidate]
}

// enqueue adds the pair of part i and the next one to the queue, if it has a rank.
func (w *mergeWork) enqueue(i int32) {
	if mg, ok := w.merges[pair{w.parts[i].id, w.parts[w.next[i]].id}]; ok {
		w.queue.push(candidate{merge: mg, at: i})
	}
}

// apply merges the pair of c, unless an earlier merge has changed one of its parts.
func (w *mergeWork) apply(c candidate) {
	i, end := c.at, int32(len(w.parts))
	if w.parts[i].id == noSymbol || w.next[i] == end {
		return
	}
	j := w.next[i]
	// A neighbour was merged since the candidate was queued, so this is another pair now.
	if mg, ok := w.merges[pair{w.parts[i].id, w.parts[j].id}]; !ok || mg.id != c.id {
		return
	}
	// Part j leaves the linked list.
	w.parts[i] = part{c.id, w.parts[i].begin, w.parts[j].end}
	w.parts[j].id = noSymbol
	w.next[i] = w.next[j]
	if w.next[i] < end {
		w.prev[w.next[i]] = i
		w.enqueue(i)
	}
	if w.prev[i] >= 0 {
		w.enqueue(w.prev[i])
	}
}

// candidate is a merge that may be done at part at.
type candidate struct {
	merge
	at int32
}

func (c candidate) Before(d candidate) bool {
	return c.rank < d.rank || c.rank == d.rank && c.at < d.at
}
