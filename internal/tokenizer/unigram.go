package tokenizer

import (
	"math"
	"slices"
)

// unigram covers a word with the tokens whose scores, which are logarithms of probabilities, have
// the largest sum (Kudo 2018; found by the algorithm of Viterbi). A character that no token covers
// is unknown; neighbours that are unknown become one token.
type unigram struct {
	file     unigramFile
	pieces   *trie
	ids      map[string]int32
	scores   []float64
	unk      int32 // noSymbol if the file names none
	unkScore float64
	bytes    *[256]int32 // with byte_fallback
	contents []string
	cache    wordCache
}

// unkPenalty is how much lower the score of an unknown character is than that of the worst token.
const unkPenalty = 10

func lowest(scores []float64) float64 {
	low := math.Inf(1)
	for _, s := range scores {
		low = min(low, s)
	}
	return low
}

func (m *unigram) unknownID() int32 { return m.unk }

// tokenize adds the tokens of a word. Words repeat, so the result is kept.
func (m *unigram) tokenize(w *encodeWork, word piece) error {
	parts, err := m.cache.parts(word.text, w.meter, m.encode)
	if err != nil {
		return err
	}
	w.add(word, 0, parts, m.contents, m.unk)
	return nil
}

// step is the best way to cover a word up to some byte: the last token and where it begins, -1 if
// there is no way.
type step struct {
	score float64
	begin int32
	id    int32
}

// improve takes a way if it is the first or has a higher score. Of equal scores the way found first
// stays.
func (s *step) improve(score float64, begin int, id int32) {
	if s.begin < 0 || score > s.score {
		*s = step{score, int32(begin), id}
	}
}

// encode finds the best way by going through the word once. With S(0) = 0 and p the scores of
// tokens:
//
//	S(e) = max over tokens that end at e and begin at b of S(b) + p(token)
//
// where an unknown character counts as a token with unkScore. It costs the length of the word times
// that of the longest token.
func (m *unigram) encode(word string, work *meter) ([]part, error) {
	if len(word) > maxWord {
		return nil, errLongWord(word)
	}
	best := make([]step, len(word)+1)
	for i := range best {
		best[i].begin = -1
	}
	best[0].score = 0
	for begin := 0; begin < len(word); {
		score, size, covered := best[begin].score, runeLen(word[begin:]), false
		visited := m.pieces.prefixes(word[begin:], func(n int, id int32) {
			best[begin+n].improve(score+m.scores[id], begin, id)
			covered = covered || n == size
		})
		if err := work.step(visited); err != nil {
			return nil, modelPlace("Unigram").wrap(err)
		}
		// Only where no token is exactly this character: it is then always possible to go on.
		if !covered {
			if m.unk == noSymbol {
				return nil, errUnknown(word, "model.unk_id", "null")
			}
			best[begin+size].improve(score+m.unkScore, begin, m.unk)
		}
		begin += size
	}
	return m.resolve(word, m.path(best))
}

// path follows the best way back from the end. Unknown neighbours become one token.
func (m *unigram) path(best []step) []part {
	var parts []part
	for end := len(best) - 1; end > 0; {
		s := best[end]
		if last := len(parts) - 1; s.id == m.unk && last >= 0 && parts[last].id == m.unk {
			parts[last].begin = s.begin
		} else {
			parts = append(parts, part{s.id, s.begin, int32(end)})
		}
		end = int(s.begin)
	}
	slices.Reverse(parts)
	return parts
}

// resolve replaces unknown parts: a run of unknown characters may be a token after all; else it
// becomes its bytes, if the vocabulary has all of them.
func (m *unigram) resolve(word string, parts []part) ([]part, error) {
	if !slices.ContainsFunc(parts, func(p part) bool { return p.id == m.unk }) {
		return parts, nil
	}
	var resolved []part
	for _, p := range parts {
		if p.id != m.unk {
			resolved = append(resolved, p)
			continue
		}
		text := word[p.begin:p.end]
		if id, ok := m.ids[text]; ok {
			p.id = id
		} else if m.bytes != nil && allBytes(m.bytes, text) {
			for i := range len(text) {
				resolved = append(resolved, part{m.bytes[text[i]], p.begin, p.end})
			}
			continue
		}
		resolved = append(resolved, p)
	}
	return resolved, nil
}

// allBytes reports whether each byte of s has a token.
func allBytes(ids *[256]int32, s string) bool {
	for i := range len(s) {
		if ids[s[i]] == noSymbol {
			return false
		}
	}
	return true
}
