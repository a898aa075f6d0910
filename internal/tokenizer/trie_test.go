package tokenizer

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestTrie looks for tokens with common prefixes. The lengths and ids are worked out by hand.
func TestTrie(t *testing.T) {
	tree, err := newTrie([]trieItem{
		{"a", 1}, {"ab", 2}, {"abcd", 3}, {"b", 4}, {"é", 5}, {"", 6}, {"b", 7}, {"ba", 8},
	})
	must(t, err)
	for _, c := range []struct {
		name, text string
		length     int
		id         int32
		prefixes   []int32 // ids, the shortest first
	}{
		{"one byte", "a", 1, 1, []int32{1}},
		{"the longest of two", "ab", 2, 2, []int32{1, 2}},
		{"abc is no token, only a way to one", "abc", 2, 2, []int32{1, 2}},
		{"through a node without a token", "abcd", 4, 3, []int32{1, 2, 3}},
		{"text after the token", "abcde", 4, 3, []int32{1, 2, 3}},
		{"of equal tokens the last", "bx", 1, 7, []int32{7}},
		{"two bytes of one character", "é", 2, 5, []int32{5}},
		{"half a character", "\xc3", 0, 0, nil},
		{"no token", "x", 0, 0, nil},
		{"the empty token is never found", "", 0, 0, nil},
	} {
		length, id, _ := tree.longest(c.text)
		if length != c.length || id != c.id {
			t.Errorf("%s: longest(%q) = %d, %d, want %d, %d", c.name, c.text, length, id, c.length,
				c.id)
		}
		var ids []int32
		tree.prefixes(c.text, func(_ int, id int32) { ids = append(ids, id) })
		if !slices.Equal(ids, c.prefixes) {
			t.Errorf("%s: prefixes(%q) = %v, want %v", c.name, c.text, ids, c.prefixes)
		}
	}
}

// TestTrieVisits checks that a search stops at the first byte that no token continues with.
func TestTrieVisits(t *testing.T) {
	tree := makeTrie([]trieItem{{"abc", 1}})
	for text, most := range map[string]int{"": 0, "x": 1, "ab": 3, "abx": 3, "abcxxxxxxxxxx": 4} {
		if _, _, visited := tree.longest(text); visited > most {
			t.Errorf("longest(%q) visits %d bytes, want at most %d", text, visited, most)
		}
	}
}

// TestTrieLikeMap compares a trie of random tokens with a search in a map.
func TestTrieLikeMap(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	word := func(n int) string {
		var s strings.Builder
		for range 1 + random.IntN(n) {
			s.WriteByte("abc"[random.IntN(3)])
		}
		return s.String()
	}
	ids := map[string]int32{}
	var items []trieItem
	for i := range 60 {
		w := word(5)
		ids[w] = int32(i)
		items = append(items, trieItem{w, int32(i)})
	}
	tree := makeTrie(items)
	for range 500 {
		text := word(8)
		wantLength, wantID := 0, int32(0)
		for n := len(text); n > 0 && wantLength == 0; n-- {
			if id, ok := ids[text[:n]]; ok {
				wantLength, wantID = n, id
			}
		}
		if n, id, _ := tree.longest(text); n != wantLength || id != wantID {
			t.Fatalf("longest(%q) = %d, %d, want %d, %d", text, n, id, wantLength, wantID)
		}
	}
}

func TestTrieRefusesLongTokens(t *testing.T) {
	_, err := newTrie([]trieItem{{strings.Repeat("x", maxTrieText+1), 1}})
	if err == nil || !strings.Contains(err.Error(), "1025 bytes, the limit is 1024") {
		t.Errorf("error %v", err)
	}
}

// ranked is an element of a queue: the lowest rank comes first, then the lowest place.
type ranked struct{ rank, place int }

func (a ranked) Before(b ranked) bool {
	return a.rank < b.rank || a.rank == b.rank && a.place < b.place
}

// TestQueue compares the order of a queue with a sorted list, while elements come and go.
func TestQueue(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 50 {
		var q queue[ranked]
		var list []ranked
		for i := range 40 {
			if len(list) > 0 && random.IntN(3) == 0 {
				want := slices.MinFunc(list, func(a, b ranked) int {
					if a.Before(b) {
						return -1
					}
					return 1
				})
				if got := q.pop(); got != want {
					t.Fatalf("pop = %v, want %v", got, want)
				}
				list = slices.DeleteFunc(list, func(r ranked) bool { return r == want })
				continue
			}
			e := ranked{random.IntN(5), i}
			q.push(e)
			list = append(list, e)
		}
		if len(q) != len(list) {
			t.Fatalf("the queue has %d elements, want %d", len(q), len(list))
		}
	}
}

// TestWordCache: a word comes back, a long one is not kept, and a slot holds one word.
func TestWordCache(t *testing.T) {
	c := newWordCache()
	c.put("word", []part{{1, 0, 4}})
	if got := c.get("word"); len(got) != 1 || got[0].id != 1 {
		t.Errorf("get = %v", got)
	}
	if got := c.get("words"); got != nil {
		t.Errorf("get of another word = %v", got)
	}
	long := strings.Repeat("x", cacheWordLen+1)
	c.put(long, []part{{2, 0, 1}})
	if got := c.get(long); got != nil {
		t.Errorf("a word of %d bytes is kept", len(long))
	}
	c.put("word", []part{{3, 0, 4}})
	if got := c.get("word"); got[0].id != 3 {
		t.Errorf("get after a second put = %v", got)
	}
}
