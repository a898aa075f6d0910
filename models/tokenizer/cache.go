package tokenizer

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
)

const (
	// cacheSlots bounds the cache: one word a slot.
	cacheSlots = 1 << 14
	// cacheWordLen is the longest word kept, in bytes. With it the cache holds at most about 16 MB.
	cacheWordLen = 48
)

// wordCache remembers the tokens of words. Each word has one slot, by its hash, and a later word takes it over, so it
// needs no lock and never grows. What it holds changes no result.
type wordCache struct {
	seed  maphash.Seed
	slots []atomic.Pointer[cachedWord]
}

type cachedWord struct {
	word  string
	parts []part
}

func newWordCache() wordCache {
	return wordCache{seed: maphash.MakeSeed(), slots: make([]atomic.Pointer[cachedWord], cacheSlots)}
}

// get returns the parts of a word, or nil.
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
