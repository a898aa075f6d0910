package tokenizer

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// TrainOptions are the options of [Train].
type TrainOptions struct {
	// VocabSize is the largest number of tokens: the specials, the 256 bytes, and one for each
	// merge. With fewer tokens more words are split into pieces. It must be at least the number of
	// specials plus 256.
	VocabSize int
	// MinFrequency is how often a pair of neighbours must occur to become a token; 0 means 1. Words
	// that occur less often are split into pieces that other words have too.
	MinFrequency int
	// Specials are the contents of the control tokens, in the order of their ids from 0.
	Specials []string
	// BeginWith is the control token, one of Specials, that Encode puts before a text when it adds
	// control tokens; none if empty.
	BeginWith string
	// PrefixSpace puts a space before a text that does not begin with one. Then the first word of a
	// text has the same token as elsewhere.
	PrefixSpace bool
}

// Train makes a byte-level BPE tokenizer from a corpus: pairs of a text and its count, such as
// sentences with count 1, or words with weights (a word inside a sentence begins with its space: "
// table" is not "table"). The counts of equal texts add up. Each text is split by the rule of
// GPT-2; then the most frequent pair of neighbours becomes a token, again and again (Sennrich,
// Haddow and Birch 2016, §3.2). Of equally frequent pairs it takes the one whose left token is
// first in string order, then the right one, so equal corpora give equal tokenizers in whatever
// order their texts come.
//
// The ids are those of the specials, then of the bytes in the order of their characters, then of
// the merges in their order. A small corpus may give fewer tokens than VocabSize: see
// [Tokenizer.VocabSize]. Each merge takes time proportional to the lengths of the distinct words
// that contain it. Train returns an error for invalid options and for negative counts.
func Train(corpus iter.Seq2[string, int], opts TrainOptions) (*Tokenizer, error) {
	if corpus == nil {
		return nil, pkg.Errorf("Train: the corpus is nil")
	}
	if least := len(opts.Specials) + len(byteChar); opts.VocabSize < least ||
		opts.VocabSize > math.MaxInt32 {
		return nil, pkg.Errorf("Train: VocabSize %d is not from %d (%d specials and 256 bytes) to "+
			"%d", opts.VocabSize, least, len(opts.Specials), math.MaxInt32)
	}
	if opts.MinFrequency < 0 {
		return nil, pkg.Errorf("Train: MinFrequency %d is negative", opts.MinFrequency)
	}
	if i := slices.IndexFunc(opts.Specials, func(s string) bool {
		return !utf8.ValidString(s)
	}); i >= 0 {
		return nil, pkg.Errorf("Train: special %q is not valid UTF-8", opts.Specials[i])
	}
	// A token that comes twice has one id and two contents.
	b := newTrainer(opts)
	if len(b.ids) != len(b.contents) {
		return nil, pkg.Errorf("Train: Specials %q must not contain a token twice, or one that "+
			"stands for a byte", opts.Specials)
	}
	f := trainedFile(opts.Specials)
	if opts.PrefixSpace {
		f.PreTokenizer = []byte(trainedPrefixed)
	}
	if opts.BeginWith != "" {
		id := slices.Index(opts.Specials, opts.BeginWith)
		if id < 0 {
			return nil, pkg.Errorf("Train: BeginWith %q must be one of Specials %q",
				opts.BeginWith, opts.Specials)
		}
		f.PostProcessor = beginTemplate(opts.BeginWith, id)
	}
	specials, err := newAddedTokens(f.AddedTokens, nil)
	if err != nil {
		return nil, pkg.Errorf("Train: %w", err)
	}
	if err := b.count(corpus, specials); err != nil {
		return nil, err
	}
	b.run(opts)
	return b.tokenizer(f)
}

// trainer has a corpus and the tokens made from it so far.
type trainer struct {
	contents []string // of each token
	ids      map[string]int32
	specials int
	merges   []mergeText
	merged   map[pair]bool
	words    []trainWord
	pairs    map[pair]*pairStat
	queue    queue[pairCount]
}

// trainWord is a word of the corpus as tokens.
type trainWord struct {
	parts []int32
	count int
}

// pairStat says how often a pair occurs, and in which words. A word may be listed twice, or may no
// longer contain the pair.
type pairStat struct {
	count int
	words []int32
}

// newTrainer begins the vocabulary: specials, then the bytes in the order of their characters.
func newTrainer(opts TrainOptions) *trainer {
	b := &trainer{
		ids: map[string]int32{}, pairs: map[pair]*pairStat{}, merged: map[pair]bool{},
		specials: len(opts.Specials),
	}
	for _, s := range opts.Specials {
		b.newToken(s)
	}
	chars := slices.Clone(byteChar[:])
	slices.Sort(chars)
	for _, r := range chars {
		b.newToken(string(r))
	}
	return b
}

func (b *trainer) newToken(content string) int32 {
	id := int32(len(b.contents))
	b.contents = append(b.contents, content)
	b.ids[content] = id
	return id
}

// count splits the corpus into words and these into bytes. The words are sorted, so that the order
// of the corpus has no effect.
func (b *trainer) count(corpus iter.Seq2[string, int], specials *addedTokens) error {
	counts := map[string]int{}
	for text, n := range corpus {
		if n < 0 {
			return pkg.Errorf("Train: text %.80q has the count %d, which is negative", text, n)
		}
		err := specials.plain.find(text, newMeter(len(text)), func(begin, end, id int) {
			if id >= 0 {
				return
			}
			splitWords(piece{text: text[begin:end]}, func(w piece) { counts[w.text] += n })
		})
		if err != nil {
			return pkg.Errorf("Train: %w", err)
		}
	}
	total := 0
	for _, w := range slices.Sorted(maps.Keys(counts)) {
		n := counts[w]
		// Adding counts may have overflowed. No pair is more frequent than the sum of counts times
		// lengths.
		if n < 0 || n > (math.MaxInt-total)/len(w) {
			return pkg.Errorf("Train: the counts of the corpus add up to more than "+
				"%d; divide them", math.MaxInt)
		}
		total += n * len(w)
		parts := make([]int32, len(w))
		for i := range len(w) {
			parts[i] = b.ids[string(byteChar[w[i]])]
		}
		b.words = append(b.words, trainWord{parts, n})
	}
	return nil
}

// run merges until the vocabulary is full or no pair is frequent enough.
func (b *trainer) run(opts TrainOptions) {
	for w, word := range b.words {
		for i := 1; i < len(word.parts); i++ {
			b.addPair(pair{word.parts[i-1], word.parts[i]}, word.count, int32(w))
		}
	}
	for p, s := range b.pairs {
		b.enqueue(p, s.count)
	}
	for len(b.contents) < opts.VocabSize && len(b.queue) > 0 {
		c := b.queue.pop()
		s := b.pairs[c.pair]
		// Counts in the queue may be old. A higher one is queued when it is reached, a lower one
		// only here.
		if s == nil || s.count > c.count { // it was merged, or is queued again with a higher count
			continue
		}
		if s.count < c.count {
			b.enqueue(c.pair, s.count)
			continue
		}
		if c.count < max(opts.MinFrequency, 1) {
			return
		}
		b.merge(c.pair, s)
	}
}

func (b *trainer) addPair(p pair, n int, word int32) {
	s := b.pairs[p]
	if s == nil {
		s = &pairStat{}
		b.pairs[p] = s
	}
	s.count += n
	s.words = append(s.words, word)
}

func (b *trainer) enqueue(p pair, count int) {
	if count > 0 {
		b.queue.push(pairCount{p, count, b.contents[p.left], b.contents[p.right]})
	}
}

// merge makes a token of a pair in every word. It skips a pair that spells a special, so that a
// text cannot spell one.
func (b *trainer) merge(p pair, s *pairStat) {
	content := b.contents[p.left] + b.contents[p.right]
	id, known := b.ids[content]
	if known && int(id) < b.specials {
		return
	}
	if !known {
		id = b.newToken(content)
	}
	if !b.merged[p] { // a pair can return if one of its tokens is made in another way
		b.merged[p] = true
		b.merges = append(b.merges, mergeText{b.contents[p.left], b.contents[p.right]})
	}
	words := s.words
	delete(b.pairs, p)
	slices.Sort(words)
	changed := map[pair]bool{}
	for _, w := range slices.Compact(words) {
		b.mergeWord(w, p, id, changed)
	}
	for q := range changed {
		if s := b.pairs[q]; s != nil {
			b.enqueue(q, s.count)
		}
	}
}

// mergeWord replaces pair p by id in word w, and marks the pairs that became more frequent.
func (b *trainer) mergeWord(w int32, p pair, id int32, changed map[pair]bool) {
	word := &b.words[w]
	old := word.parts
	parts := make([]int32, 0, len(old))
	for i := 0; i < len(old); i++ {
		if i+1 < len(old) && old[i] == p.left && old[i+1] == p.right {
			parts = append(parts, id)
			i++
			continue
		}
		parts = append(parts, old[i])
	}
	// The word was listed, but no longer has the pair.
	if len(parts) == len(old) {
		return
	}
	// All pairs of the word are taken away and added again, which is simple and right for pairs
	// that overlap, as in aaa.
	for i := 1; i < len(old); i++ {
		if s := b.pairs[pair{old[i-1], old[i]}]; s != nil {
			s.count -= word.count
		}
	}
	for i := 1; i < len(parts); i++ {
		q := pair{parts[i-1], parts[i]}
		b.addPair(q, word.count, w)
		changed[q] = true
	}
	word.parts = parts
}

// pairCount is a pair in the queue, with its contents to break ties.
type pairCount struct {
	pair
	count       int
	left, right string
}

func (a pairCount) Before(b pairCount) bool {
	return cmp.Or(cmp.Compare(b.count, a.count), strings.Compare(a.left, b.left),
		strings.Compare(a.right, b.right)) < 0
}
