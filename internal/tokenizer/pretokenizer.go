package tokenizer

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// preTokenizers are applied one after the other, each to the pieces of the one before.
type preTokenizers []partOf[preTokenizer]

// pieceSteps is how many steps a piece counts in addition to its bytes.
const pieceSteps = 8

// split calls itself for the pieces of the first one, so pieces come in the order of the text and
// none is kept. Empty pieces are dropped between two pre-tokenizers.
func (s preTokenizers) split(p piece, m *meter, yield func(piece)) error {
	if len(s) == 0 {
		yield(p)
		return nil
	}
	if err := m.step(pieceSteps + len(p.text)); err != nil {
		return s[0].wrap(err)
	}
	if len(s) == 1 {
		return s[0].wrap(s[0].part.split(p, m, yield))
	}
	var inner error
	err := s[0].part.split(p, m, func(q piece) {
		// The pre-tokenizer cannot be stopped, so after an error its other pieces are passed over.
		if inner == nil && q.text != "" {
			inner = s[1:].split(q, m, yield)
		}
	})
	if err != nil {
		return s[0].wrap(err)
	}
	return inner
}

// preTokenizerKinds parses the pre-tokenizers, by type.
var preTokenizerKinds = map[string]func(raw json.RawMessage) (preTokenizer, error){
	"BertPreTokenizer":   bare[preTokenizer](bertWords{}),
	"ByteLevel":          reading(newByteLevelSplit),
	"CharDelimiterSplit": reading(newDelimiter),
	"Digits":             reading(newDigits),
	"Metaspace":          reading(newMetaspaceSplit),
	"Punctuation":        reading(newPunctuation),
	"Split":              reading(newSplit),
	"Whitespace":         bare[preTokenizer](splitter{wordsAndMarks{}, removed, true}),
	"WhitespaceSplit":    bare[preTokenizer](splitter{runeClass(isSpace), removed, false}),
}

// parsePreTokenizer parses a pre-tokenizer as a list.
func parsePreTokenizer(key string, raw json.RawMessage, depth int) (preTokenizers, error) {
	return sectionOf("pretokenizers", preTokenizerKinds).parts(key, raw, depth)
}

// behavior is what happens to the matches at which a text is split.
type behavior string

// For the text "a-b" and matches of "-":
//
//	Removed "a" "b",  Isolated "a" "-" "b",  MergedWithPrevious "a-" "b",  MergedWithNext "a" "-b"
//
// Contiguous is Isolated with neighbouring matches joined.
const (
	removed            behavior = "Removed"
	isolated           behavior = "Isolated"
	mergedWithPrevious behavior = "MergedWithPrevious"
	mergedWithNext     behavior = "MergedWithNext"
	contiguous         behavior = "Contiguous"
)

func (b behavior) check() error {
	switch b {
	case removed, isolated, mergedWithPrevious, mergedWithNext, contiguous:
		return nil
	}
	return &unsupportedError{"behavior", fmt.Sprintf("%.80q", string(b)), []string{
		string(contiguous), string(isolated), string(mergedWithNext),
		string(mergedWithPrevious), string(removed),
	}}
}

// splitter splits at the matches of a pattern; if inverted, between them.
type splitter struct {
	pattern
	behavior behavior
	invert   bool
}

// split divides the text into matches and what is between them, and lets partition join them.
func (s splitter) split(p piece, m *meter, yield func(piece)) error {
	parts := partition{behavior: s.behavior, yield: func(begin, end int) {
		if begin < end {
			yield(p.slice(begin, end))
		}
	}}
	done := 0
	err := s.find(p.text, m, func(begin, end int) {
		if done < begin {
			parts.add(done, begin, s.invert)
		}
		parts.add(begin, end, !s.invert)
		done = end
	})
	if err != nil {
		return err
	}
	if done < len(p.text) {
		parts.add(done, len(p.text), s.invert)
	}
	parts.finish()
	return nil
}

// partition joins matches with their neighbours as a behavior says. It holds back the part that may
// still grow.
type partition struct {
	behavior   behavior
	yield      func(begin, end int)
	begin, end int  // of the part that is held back
	pending    bool // a part is held back
	match      bool // the last part added was a match
}

// add adds the next part of the text: a match, or the text between two.
func (s *partition) add(begin, end int, match bool) {
	join := false
	// join reports whether the part belongs to the one that is held back.
	switch s.behavior {
	case isolated:
		s.yield(begin, end)
		return
	case removed:
		if !match {
			s.yield(begin, end)
		}
		return
	case mergedWithPrevious:
		join = match && !s.match
	case mergedWithNext:
		join = !match && s.match
	case contiguous:
		join = match == s.match
	}
	if !join || !s.pending {
		s.finish()
		s.begin, s.pending = begin, true
	}
	s.end, s.match = end, match
}

func (s *partition) finish() {
	if s.pending {
		s.yield(s.begin, s.end)
	}
}

// splitFile is the pre_tokenizer Split.
type splitFile struct {
	Type     string      `json:"type"`
	Pattern  patternFile `json:"pattern" need:"true"`
	Behavior behavior    `json:"behavior" need:"true"`
	Invert   bool        `json:"invert" need:"true"`
}

func newSplit(f splitFile) (preTokenizer, error) {
	pat, err := parsePattern(f.Pattern)
	if err != nil {
		return nil, err
	}
	return splitter{pat, f.Behavior, f.Invert}, f.Behavior.check()
}

// newPunctuation makes Punctuation, which is Split with a class of characters.
func newPunctuation(f struct {
	Type     string    `json:"type"`
	Behavior *behavior `json:"behavior"`
}) (preTokenizer, error) {
	b := isolated
	if f.Behavior != nil {
		b = *f.Behavior
	}
	return splitter{runeClass(isPunctuation), b, false}, b.check()
}

// newDigits makes Digits: each digit by itself, or runs of them.
func newDigits(f struct {
	Type       string `json:"type"`
	Individual bool   `json:"individual_digits" need:"true"`
}) (preTokenizer, error) {
	if f.Individual {
		return splitter{runeClass(isNumeric), isolated, false}, nil
	}
	return splitter{runeClass(isNumeric), contiguous, false}, nil
}

// newDelimiter makes CharDelimiterSplit, which removes the delimiter.
func newDelimiter(f struct {
	Type      string `json:"type"`
	Delimiter string `json:"delimiter"`
}) (preTokenizer, error) {
	if err := oneRune("delimiter", f.Delimiter); err != nil {
		return nil, err
	}
	return splitter{literal(f.Delimiter), removed, false}, nil
}

func oneRune(key, s string) error {
	if utf8.RuneCountInString(s) != 1 {
		return fmt.Errorf("%s: %.80q must be one character", key, s)
	}
	return nil
}

// newByteLevelSplit makes ByteLevel. With use_regex false another pre-tokenizer has split the
// text before; older files lack the key, which means true.
func newByteLevelSplit(b byteLevelFile) (preTokenizer, error) {
	return byteLevel{b.AddPrefixSpace, b.UseRegex == nil || *b.UseRegex, true}, nil
}

// wordsAndMarks is the pattern \w+|[^\w\s]+.
type wordsAndMarks struct{}

func (wordsAndMarks) find(text string, _ *meter, yield func(begin, end int)) error {
	begin, last := 0, space
	for i := 0; i < len(text); {
		kind, size := wordKind(text[i:])
		if kind != last {
			if last != space {
				yield(begin, i)
			}
			begin, last = i, kind
		}
		i += size
	}
	if last != space {
		yield(begin, len(text))
	}
	return nil
}

// metaspace is Metaspace, a pre_tokenizer and a decoder: a visible character replaces the space.
type metaspace struct {
	replacement string
	prepend     string // always, first or never
	splits      bool   // the text is split before each replacement
}

// metaspaceFile is Metaspace of newer and older files.
type metaspaceFile struct {
	Type           string  `json:"type"`
	Replacement    string  `json:"replacement"`
	AddPrefixSpace *bool   `json:"add_prefix_space"` // in older files
	PrependScheme  *string `json:"prepend_scheme"`
	Split          *bool   `json:"split"`
	StrRep         *string `json:"str_rep"` // in older files: replacement again
}

func newMetaspace(f metaspaceFile) (metaspace, error) {
	m := metaspace{prepend: "always", splits: true}
	if err := oneRune("replacement", f.Replacement); err != nil {
		return m, err
	}
	m.replacement = f.Replacement
	if f.PrependScheme != nil {
		m.prepend = *f.PrependScheme
	}
	if f.Split != nil {
		m.splits = *f.Split
	}
	switch m.prepend {
	case "always", "first", "never":
	default:
		return m, &unsupportedError{
			"prepend_scheme", fmt.Sprintf("%.80q", m.prepend),
			[]string{"always", "first", "never"},
		}
	}
	// Two keys for one setting, which contradict each other.
	if f.AddPrefixSpace != nil && !*f.AddPrefixSpace && m.prepend != "never" {
		return m, fmt.Errorf(
			"add_prefix_space is false but prepend_scheme is %s; change it to never", m.prepend)
	}
	return m, nil
}

func newMetaspaceSplit(f metaspaceFile) (preTokenizer, error) { return newMetaspace(f) }

// split replaces spaces, puts one before the text, and splits before each. With first only the
// piece at the beginning of the text gets one, so a piece after a control token does not.
func (m metaspace) split(p piece, work *meter, yield func(piece)) (err error) {
	if m.replacement != " " {
		if p, err = p.replaceAll(work, literal(" "), m.replacement); err != nil {
			return err
		}
	}
	if m.prepend != "never" && !strings.HasPrefix(p.text, m.replacement) &&
		(m.prepend == "always" || p.at == 0) {
		if p, err = p.prepend(work, m.replacement); err != nil {
			return err
		}
	}
	if !m.splits {
		yield(p)
		return nil
	}
	return splitter{literal(m.replacement), mergedWithNext, false}.split(p, work, yield)
}
