package tokenizer

import (
	"math"
	"slices"
)

// unigram covers a word with the tokens whose scores, logarithms of probabilities, have the largest sum (Kudo 2018, found
// by the algorithm of Viterbi). A character that no token covers is unknown; neighbours that are unknown are one.
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

// unkPenalty is by how much an unknown character scores less than the worst token.
const unkPenalty = 10

func lowest(scores []float64) float64 {
	low := math.Inf(1)
	for _, s := range scores {
		low = min(low, s)
	}
	return low
}

func (m *unigram) tokenize(w *encodeWork, word piece) error {
	parts := m.cache.get(word.text)
	if parts == nil {
		var err error
		if parts, err = m.encode(word.text, w.meter); err != nil {
			return err
		}
		m.cache.put(word.text, parts)
	}
	w.add(word, 0, parts, m.contents, m.unk)
	return nil
}

// step is the best way to cover a word up to some byte: its last token, and where that begins, -1 for no way.
type step struct {
	score float64
	begin int32
	id    int32
}

// better takes a way if it is the first or scores more.
func (s *step) better(score float64, begin int, id int32) {
	if s.begin < 0 || score > s.score {
		*s = step{score, int32(begin), id}
	}
}

func (m *unigram) encode(word string, work *meter) ([]part, error) {
	if len(word) > maxWord {
		return nil, errWord(word)
	}
	best := make([]step, len(word)+1)
	for i := range best {
		best[i].begin = -1
	}
	best[0].score = 0
	for begin := 0; begin < len(word); {
		here, size, covered := best[begin].score, runeLen(word[begin:]), false
		walked := m.pieces.prefixes(word[begin:], func(n int, id int32) {
			best[begin+n].better(here+m.scores[id], begin, id)
			covered = covered || n == size
		})
		if err := work.step(walked); err != nil {
			return nil, modelPlace("Unigram").blame(err)
		}
		if !covered {
			if m.unk == noSymbol {
				return nil, errUnknown(word, "model.unk_id", "null")
			}
			best[begin+size].better(here+m.unkScore, begin, m.unk)
		}
		begin += size
	}
	return m.resolve(word, m.path(best))
}

// path goes back along the best way. Unknown neighbours become one.
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

// resolve gives the unknown parts their tokens: a run of unknown characters may be a token after all, or it falls back
// to its bytes, if the vocabulary has all of them.
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

// allBytes is whether each byte of s has a token.
func allBytes(ids *[256]int32, s string) bool {
	for i := range len(s) {
		if ids[s[i]] == noSymbol {
			return false
		}
	}
	return true
}
