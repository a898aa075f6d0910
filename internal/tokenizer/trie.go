package tokenizer

import (
	"fmt"
	"slices"
	"strings"
)

// trie finds the tokens that a text begins with. The children of a node are stored next to each
// other, sorted by their byte.
type trie struct {
	first []int32 // first child by node; the children end where those of the next node begin
	label []byte
	id    []int32 // id of the token that ends at the node, or noSymbol
	roots [256]int32
}

// trieItem is a text with the id that a search returns for it.
type trieItem struct {
	text string
	id   int32
}

// maxTrieText is the length of the longest token, in bytes. It bounds the time of a search.
const maxTrieText = 1024

// newTrie makes a trie of texts. Of equal texts the last counts; an empty one is never found.
func newTrie(items []trieItem) (*trie, error) {
	for _, it := range items {
		if len(it.text) > maxTrieText {
			return nil, fmt.Errorf("model.vocab: token %.80q has %d bytes, the limit is %d",
				it.text, len(it.text), maxTrieText)
		}
	}
	return makeTrie(items), nil
}

// makeTrie is newTrie for texts of any length. It goes level by level: in sorted order the texts
// with a common prefix are next to each other, so a node is a range of them, and its children are
// that range divided by the next byte.
func makeTrie(items []trieItem) *trie {
	slices.SortStableFunc(items, func(a, b trieItem) int { return strings.Compare(a.text, b.text) })
	t := &trie{}
	t.node(0, noSymbol)
	type group struct{ node, begin, end, depth int } // items[begin:end] pass through node
	level := []group{{0, 0, len(items), 0}}
	for len(level) > 0 {
		var next []group
		for _, g := range level {
			t.first[g.node] = int32(len(t.label))
			for i := g.begin; i < g.end; {
				if len(items[i].text) == g.depth {
					i++
					continue
				}
				c, j := items[i].text[g.depth], i+1
				for j < g.end && items[j].text[g.depth] == c {
					j++
				}
				child := group{len(t.label), i, j, g.depth + 1}
				id := int32(noSymbol)
				// Texts that end here come first in sorted order.
				for k := i; k < j && len(items[k].text) == child.depth; k++ {
					id = items[k].id
				}
				t.node(c, id)
				next = append(next, child)
				i = j
			}
		}
		level = next
	}
	t.first = append(t.first, int32(len(t.label)))
	// The first byte of every search is looked up in a table, because the root has the most
	// children.
	for c := range t.roots {
		t.roots[c] = t.search(0, byte(c))
	}
	return t
}

// node appends a node. Its first child is set when its level is done.
func (t *trie) node(label byte, id int32) {
	t.first, t.label, t.id = append(t.first, 0), append(t.label, label), append(t.id, id)
}

// search returns the child of node for byte c, or noSymbol. It is a binary search among at most 256
// children.
func (t *trie) search(node int32, c byte) int32 {
	low, high := t.first[node], t.first[node+1]
	for low < high {
		mid := (low + high) / 2
		if t.label[mid] < c {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low < t.first[node+1] && t.label[low] == c {
		return low
	}
	return noSymbol
}

// prefixes yields the length and id of each token that s begins with, the shortest first. It
// returns how many bytes of s it visited.
func (t *trie) prefixes(s string, yield func(n int, id int32)) (visited int) {
	if s == "" {
		return 0
	}
	node := t.roots[s[0]]
	for i := 0; node != noSymbol; node = t.search(node, s[i]) {
		i++
		if t.id[node] != noSymbol {
			yield(i, t.id[node])
		}
		if visited = i; i == len(s) {
			break
		}
	}
	return visited + 1
}

// longest returns the length and id of the longest token that s begins with; the length is 0 if
// there is none. It also returns how many bytes of s it visited.
func (t *trie) longest(s string) (n int, id int32, visited int) {
	visited = t.prefixes(s, func(length int, found int32) { n, id = length, found })
	return n, id, visited
}
