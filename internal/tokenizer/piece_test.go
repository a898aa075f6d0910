package tokenizer

import (
	"errors"
	"testing"
)

// TestCharacter finds the bytes of the character that a byte belongs to.
func TestCharacter(t *testing.T) {
	// Characters of 1, 2, 3 and 4 bytes, a bad byte, one of 1 byte, and a part of a character.
	const text = "aé漢🙂\xffb\xe6\xbc"
	for _, c := range []struct{ at, begin, end int }{
		{0, 0, 1},
		{1, 1, 3},
		{2, 1, 3},
		{3, 3, 6},
		{4, 3, 6},
		{5, 3, 6},
		{6, 6, 10},
		{7, 6, 10},
		{9, 6, 10},
		{10, 10, 11},
		{11, 11, 12},
		{12, 12, 13},
		{13, 13, 14},
	} {
		if begin, end := character(text, c.at); begin != c.begin || end != c.end {
			t.Errorf("byte %d is in [%d,%d), want [%d,%d)", c.at, begin, end, c.begin, c.end)
		}
	}
}

// TestDecodeRune gives each bad byte a number of its own, and back.
func TestDecodeRune(t *testing.T) {
	for _, c := range []struct {
		text string
		want rune
		size int
	}{
		{"a", 'a', 1},
		{"é", 'é', 2},
		{"🙂x", '🙂', 4},
		{"\xff", badByte + 0xff, 1},
		{"\xe6\xbc", badByte + 0xe6, 1},
		{"\ufffd", 0xfffd, 3},
		{"\xed\xa0\x80", badByte + 0xed, 1},
	} {
		r, size := decodeRune(c.text)
		if r != c.want || size != c.size {
			t.Errorf("decodeRune(%q) = %#x, %d, want %#x, %d", c.text, r, size, c.want, c.size)
		}
		if got := string(appendRune(nil, r)); got != c.text[:size] {
			t.Errorf("appendRune(%#x) = %q, want %q", r, got, c.text[:size])
		}
	}
}

// TestOffsetsAfterChanges follows bytes through changes; the offsets are worked out by hand.
func TestOffsetsAfterChanges(t *testing.T) {
	whole := func(text string) piece { return piece{text: text, input: text} }
	m := newMeter(100)
	type bytes struct{ i, j, begin, end int }
	for _, c := range []struct {
		name   string
		change func() (piece, error)
		text   string
		want   []bytes
	}{
		{
			"nothing", func() (piece, error) { return whole("aé"), nil }, "aé",
			[]bytes{{0, 1, 0, 1}, {1, 2, 1, 3}, {2, 3, 1, 3}, {0, 3, 0, 3}},
		},
		{
			"a slice", func() (piece, error) { return whole("aéb").slice(1, 4), nil }, "éb",
			[]bytes{{0, 2, 1, 3}, {2, 3, 3, 4}},
		},
		{"a slice of a slice", func() (piece, error) {
			return whole("abcdef").slice(1, 5).slice(1, 3), nil
		}, "cd", []bytes{{0, 1, 2, 3}, {0, 2, 2, 4}}},
		{"a leading space stands for the first character", func() (piece, error) {
			return whole("éb").withLeadingSpace(m)
		}, " éb", []bytes{{0, 1, 0, 2}, {1, 3, 0, 2}, {3, 4, 2, 3}}},
		{"no second leading space", func() (piece, error) {
			return whole(" a").withLeadingSpace(m)
		}, " a", []bytes{{0, 1, 0, 1}, {1, 2, 1, 2}}},
		{
			"lower case keeps places", func() (piece, error) { return lowercase(whole("aÉB"), m) },
			"aéb",
			[]bytes{{0, 1, 0, 1}, {1, 3, 1, 3}, {3, 4, 3, 4}},
		},
		{"a character of two belongs to the old one", func() (piece, error) {
			return lowercase(whole("xİy"), m)
		}, "xi\u0307y", []bytes{{0, 1, 0, 1}, {1, 2, 1, 3}, {2, 4, 1, 3}, {4, 5, 3, 4}}},
		{
			"decomposed", func() (piece, error) { return nfd.apply(whole("aéb"), m) },
			"ae\u0301b",
			[]bytes{{1, 2, 1, 3}, {2, 4, 1, 3}, {4, 5, 3, 4}},
		},
		{
			"dropped at the start",
			func() (piece, error) { return strip(whole("  ab "), m, true, true) },
			"ab",
			[]bytes{{0, 1, 2, 3}, {1, 2, 3, 4}},
		},
		{"replaced by more", func() (piece, error) {
			return whole("a b").replaceAll(m, literal(" "), "__")
		}, "a__b", []bytes{{0, 1, 0, 1}, {1, 2, 1, 2}, {2, 3, 1, 2}, {3, 4, 2, 3}}},
		{"replaced by nothing", func() (piece, error) {
			return whole("a-b").replaceAll(m, literal("-"), "")
		}, "ab", []bytes{{0, 1, 0, 1}, {1, 2, 2, 3}}},
		{
			"a text in front", func() (piece, error) { return whole("éb").prepend(m, "▁") },
			"▁éb",
			[]bytes{{0, 3, 0, 2}, {3, 5, 0, 2}, {5, 6, 2, 3}},
		},
		{
			"bytes as characters", func() (piece, error) { return byteLevelText(whole("é"), m) },
			"Ã©",
			[]bytes{{0, 2, 0, 2}, {2, 4, 0, 2}},
		},
	} {
		p, err := c.change()
		if err != nil || p.text != c.text {
			t.Errorf("%s: %q, %v, want %q", c.name, p.text, err, c.text)
			continue
		}
		for _, b := range c.want {
			if begin, end := p.offsets(b.i, b.j); begin != b.begin || end != b.end {
				t.Errorf("%s: bytes [%d,%d) come from [%d,%d), want [%d,%d)", c.name, b.i, b.j,
					begin, end, b.begin, b.end)
			}
		}
	}
}

// TestMeter counts growth and steps, and names the part that exceeds the budget.
func TestMeter(t *testing.T) {
	m := newMeter(10)
	if want := smallGrowth + 320; m.room() != want {
		t.Errorf("room = %d, want %d", m.room(), want)
	}
	if err := m.grow(-5); err != nil || m.room() != smallGrowth+320 {
		t.Errorf("removed bytes change the room: %d, %v", m.room(), err)
	}
	if err := m.grow(m.room()); err != nil || m.room() != 0 {
		t.Errorf("grow by all the room: %v, %d left", err, m.room())
	}
	err := place{"normalizer", "Replace"}.wrap(m.grow(1))
	var limit *limitError
	if !errors.As(err, &limit) || !errors.Is(err, errLimit) {
		t.Fatalf("error %v", err)
	}
	if limit.Part != "normalizer (Replace)" || limit.Value != limit.Limit+1 || limit.Input != 10 {
		t.Errorf("error %+v", limit)
	}
	if again := (place{"model", "BPE"}).wrap(err); again.Error() != err.Error() {
		t.Errorf("a second place changes the error: %v", again)
	}
	if err := (place{"model", "BPE"}).wrap(nil); err != nil {
		t.Errorf("no error becomes %v", err)
	}
	if err := m.step(m.maxSteps); err != nil {
		t.Errorf("all steps: %v", err)
	}
	if err := m.step(1); !errors.Is(err, errLimit) {
		t.Errorf("one step more: %v", err)
	}
	large := newMeter(100 << 20)
	if want := smallGrowth + manyGrowth*(100<<20); large.maxGrown != want {
		t.Errorf("a large text may grow by %d, want %d", large.maxGrown, want)
	}
}
