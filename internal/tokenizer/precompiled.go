package tokenizer

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// precompiled is the normalizer that sentencepiece compiles its rules into: a trie of texts, each
// with its replacement.
//
// The trie is a double array (Aoe 1989) in the layout of darts-clone. A unit has the label of its
// node, whether a text ends there, and an offset; the child for a label is at the offset xor the
// label.
type precompiled struct {
	units    []uint32
	replaced string // the replacements, each ends with a zero byte
}

// maxReplacement is the length of the longest replacement, in bytes; the longest in Unicode has 33.
// It bounds the time of a lookup.
const maxReplacement = 1024

// newPrecompiled reads the base64 of: the bytes of the trie as a number, the units of the trie,
// and the replacements. All numbers are little-endian with 32 bits.
func newPrecompiled(f struct {
	Type string `json:"type"`
	Map  string `json:"precompiled_charsmap"`
}) (normalizer, error) {
	data, err := base64.StdEncoding.DecodeString(f.Map)
	if err != nil {
		return nil, errors.New("precompiled_charsmap: the value is not base64")
	}
	if len(data) < 4 {
		return nil, fmt.Errorf("precompiled_charsmap: %d bytes, want at least 4", len(data))
	}
	size, data := binary.LittleEndian.Uint32(data), data[4:]
	if size%4 != 0 || int64(size) > int64(len(data)) || size == 0 {
		return nil, fmt.Errorf("precompiled_charsmap: the trie has %d bytes of the %d that follow",
			size, len(data))
	}
	n := &precompiled{make([]uint32, size/4), string(data[size:])}
	for to := range strings.SplitSeq(n.replaced, "\x00") {
		if len(to) > maxReplacement {
			return nil, fmt.Errorf("precompiled_charsmap: the replacement %.40q has %d bytes, "+
				"the limit is %d", to, len(to), maxReplacement)
		}
	}
	for i := range n.units {
		n.units[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	if !utf8.ValidString(n.replaced) {
		return nil, errors.New("precompiled_charsmap: the replacements are not valid UTF-8")
	}
	return n, nil
}

// normalize replaces whole grapheme clusters of less than 6 bytes, else single characters.
func (n *precompiled) normalize(p piece, m *meter) (piece, error) {
	c := charsmapWork{precompiled: n, piece: p, meter: m}
	for rest := p.text; rest != ""; {
		// Two ASCII characters are two clusters, except a carriage return with a line feed, so that
		// most texts need no segmentation.
		size := 1
		if rest[0] >= utf8.RuneSelf || rest[0] == '\r' || len(rest) > 1 &&
			rest[1] >= utf8.RuneSelf {
			cluster, _, _, _ := uniseg.FirstGraphemeClusterInString(rest, -1)
			size = len(cluster)
		}
		c.cluster(rest[:size])
		rest = rest[size:]
	}
	if c.rewriter == nil {
		return p, m.step(len(p.text))
	}
	c.flush()
	return c.changed()
}

// charsmapWork is a text while it is normalised. It has a rewriter from the first change on.
type charsmapWork struct {
	*precompiled
	piece
	meter *meter
	*rewriter
	done   int     // bytes of the text that are processed
	last   newRune // not written yet, because dropped characters may belong to it
	isLast bool    // last is set
}

// next writes the last change and keeps this one.
func (c *charsmapWork) next(change newRune) {
	c.flush()
	c.last, c.isLast = change, true
}

// flush writes the last change.
func (c *charsmapWork) flush() {
	if c.isLast {
		c.isLast = false
		c.put(c.last)
	}
}

// start makes the rewriter and copies the text that is done.
func (c *charsmapWork) start() {
	c.rewriter = c.rewrite(c.meter)
	for i := 0; i < c.done; {
		r, size := decodeRune(c.piece.text[i:])
		c.next(newRune{r, 0})
		i += size
	}
}

// cluster normalises one grapheme cluster: as a whole if it is short, else character by character.
func (c *charsmapWork) cluster(s string) {
	if len(s) < 6 && c.replaceText(s) {
		return
	}
	for s != "" {
		r, size := decodeRune(s)
		if !c.replaceText(s[:size]) {
			if c.rewriter != nil {
				c.next(newRune{r, 0})
			}
			c.done += size
		}
		s = s[size:]
	}
}

// replaceText replaces s if it has a replacement: one character by one, then the rest is inserted
// or dropped. Dropped characters belong to the character before, whichever it is; at the start of
// the text they are just dropped.
func (c *charsmapWork) replaceText(s string) bool {
	to, ok := c.lookup(s)
	if !ok {
		return false
	}
	if c.rewriter == nil {
		c.start()
	}
	c.done += len(s)
	old := utf8.RuneCountInString(s)
	for _, r := range to {
		added := 0
		if old == 0 {
			added = 1
		} else {
			old--
		}
		c.next(newRune{r, added})
	}
	if c.isLast {
		c.last.added -= old
	}
	return true
}

// lookup returns the replacement for the shortest text in the trie that s begins with. That is
// neither the longest nor s itself, but so does the reference.
func (n *precompiled) lookup(s string) (string, bool) {
	at := uint32(0)
	at ^= offset(n.units[0])
	for i := range len(s) {
		c := uint32(s[i])
		if c == 0 {
			break
		}
		at ^= c
		// A unit whose label is not the byte belongs to another node. Bit 31 marks a value, which
		// is no node.
		if int64(at) >= int64(len(n.units)) || n.units[at]&(1<<31|0xff) != c {
			break
		}
		unit := n.units[at]
		at ^= offset(unit)
		// No text ends at this node.
		if unit>>8&1 == 0 {
			continue
		}
		if int64(at) >= int64(len(n.units)) {
			break
		}
		value := n.units[at] &^ (1 << 31)
		if int64(value) > int64(len(n.replaced)) {
			break
		}
		to, _, _ := strings.Cut(n.replaced[value:], "\x00")
		return to, utf8.ValidString(to)
	}
	return "", false
}

// offset returns the offset of a unit: bits 10 to 31, times 256 if bit 9 is set.
func offset(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }
