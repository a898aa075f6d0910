package tokenizer

// bpe is byte pair encoding over bytes: a word starts as one symbol a byte, and the pair of neighbours with the lowest
// rank is merged until no pair has a rank; of equal ranks the leftmost first.
type bpe struct {
	contents []string // of every id, for the tokens' text
	symbols  [256]int32
	merges   map[pair]merge
	whole    map[string]int32 // ignore_merges: the content of every token, which is a token as a whole; else nil
	unk      int32            // the token of a byte without a symbol, or noSymbol
	fuseUnk  bool
	cache    wordCache
}

// noSymbol is the id of a byte that the vocabulary lacks.
const noSymbol = -1

type pair struct{ left, right int32 }

// merge is what becomes of a pair, and when.
type merge struct {
	rank int32
	id   int32
}

// part is a token of a word: bytes [begin,end) of it.
type part struct {
	id         int32
	begin, end int32
}

func (m *bpe) tokenize(dst []token, word piece) []token {
	for _, p := range m.parts(word.text) {
		begin, end := word.offsets(int(p.begin), int(p.end))
		dst = append(dst, token{Encoded{ID: int(p.id), Begin: begin, End: end}, m.contents[p.id]})
	}
	return dst
}

// parts returns the tokens of a word. The result may be shared: it must not be changed.
func (m *bpe) parts(word string) []part {
	if parts := m.cache.get(word); parts != nil {
		return parts
	}
	parts := m.encode(word)
	m.cache.put(word, parts)
	return parts
}

func (m *bpe) encode(word string) []part {
	if m.whole != nil && word != "" {
		if id, ok := m.whole[contentOf(word)]; ok {
			return []part{{id, 0, int32(len(word))}}
		}
	}
	return m.merge(m.spell(word))
}

// spell returns one part for each byte that has a symbol. Of the others the unknown token is made, one for each or, if
// the file says so, one for a run; without an unknown token they are left out.
func (m *bpe) spell(word string) []part {
	parts := make([]part, 0, len(word))
	inRun := false
	for i := range len(word) {
		id, begin, end := m.symbols[word[i]], int32(i), int32(i+1)
		switch {
		case id != noSymbol:
			parts = append(parts, part{id, begin, end})
		case m.unk != noSymbol && inRun && m.fuseUnk:
			parts[len(parts)-1].end = end
		case m.unk != noSymbol:
			parts = append(parts, part{m.unk, begin, end})
		}
		inRun = id == noSymbol
	}
	return parts
}

// merge merges the parts of a word in place. A list of the parts that are left and a queue of the pairs make it
// O(n log n) in the worst case, a word of one letter.
func (m *bpe) merge(parts []part) []part {
	w := mergeWork{bpe: m, parts: parts, prev: make([]int32, len(parts)), next: make([]int32, len(parts))}
	for i := range parts {
		w.prev[i], w.next[i] = int32(i-1), int32(i+1)
	}
	for i := range len(parts) - 1 {
		w.offer(int32(i))
	}
	for len(w.queue) > 0 {
		w.apply(w.queue.pop())
	}
	left := parts[:0]
	for _, p := range parts {
		if p.id != noSymbol {
			left = append(left, p)
		}
	}
	return left
}

// mergeWork is a word while its parts are merged. A part that went into its left neighbour has the id noSymbol; prev is
// -1 and next the number of parts where there is no neighbour.
type mergeWork struct {
	*bpe
	parts      []part
	prev, next []int32
	queue      queue[candidate]
}

// offer queues the pair of part i and the next one, if it has a rank.
func (w *mergeWork) offer(i int32) {
	if mg, ok := w.merges[pair{w.parts[i].id, w.parts[w.next[i]].id}]; ok {
		w.queue.push(candidate{merge: mg, at: i})
	}
}

// apply merges the pair of c, unless an earlier merge took one of its parts away.
func (w *mergeWork) apply(c candidate) {
	i, end := c.at, int32(len(w.parts))
	if w.parts[i].id == noSymbol || w.next[i] == end {
		return
	}
	j := w.next[i]
	if mg, ok := w.merges[pair{w.parts[i].id, w.parts[j].id}]; !ok || mg.id != c.id {
		return
	}
	w.parts[i] = part{c.id, w.parts[i].begin, w.parts[j].end}
	w.parts[j].id = noSymbol
	w.next[i] = w.next[j]
	if w.next[i] < end {
		w.prev[w.next[i]] = i
		w.offer(i)
	}
	if w.prev[i] >= 0 {
		w.offer(w.prev[i])
	}
}

// candidate is a merge that can be done at a part.
type candidate struct {
	merge
	at int32
}

func (c candidate) before(d candidate) bool {
	return c.rank < d.rank || c.rank == d.rank && c.at < d.at
}
