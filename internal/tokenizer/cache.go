package tokenizer

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
)

const (
	// cacheSlots is the number of slots. Each holds one word.
	cacheSlots = 1 << 14
	// cacheWordLen is the length of the longest word in the cache, in bytes. It bounds the cache to
	// about 16 MB.
	cacheWordLen = 48
)

// wordCache stores the tokens of words. A word has one slot, by its hash, and replaces the word in
// it, so the cache needs no lock and never grows. It changes no result.
type wordCache struct {
	seed  maphash.Seed
	slots []atomic.Pointer[cachedWord]
}

type cachedWord struct {
	word  string
	parts []part
}

func newWordCache() wordCache {
	return wordCache{
		seed:  maphash.MakeSeed(),
		slots: make([]atomic.Pointer[cachedWord], cacheSlots),
	}
}

// parts returns the tokens of a word: those in the cache, or else what encode returns for it. The
// result may be shared and must not be changed.
func (c *wordCache) parts(
	word string, m *meter, encode func(string, *meter) ([]part, error),
) ([]part, error) {
	if parts := c.get(word); parts != nil {
		return parts, nil
	}
	parts, err := encode(word, m)
	if err == nil {
		c.put(word, parts)
	}
	return parts, err
}

// get returns the parts of a word, or nil if it is not in the cache.
func (c *wordCache) get(word string) []part {
	if len(word) > cacheWordLen {
		return nil
	}
	if w := c.slot(word).Load(); w != nil && w.word == word {
		return w.parts
	}
	return nil
}

func (c *wordCache) put(word string, parts []part) {
	if len(word) > cacheWordLen {
		return
	}
	c.slot(word).Store(&cachedWord{strings.Clone(word), parts})
}

func (c *wordCache) slot(word string) *atomic.Pointer[cachedWord] {
	return &c.slots[maphash.String(c.seed, word)%cacheSlots]
}
