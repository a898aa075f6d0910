package report

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/headwater-ml/headwater/internal/corpus"
)

// The sizes of what is counted.
const (
	bins       = 20 // of a histogram of shares, and of places in the prompt
	lastTokens = 16 // distances from the end of the prompt
	firstSteps = 64 // generated tokens of a record that are counted by their number
	maxReasons = 1000
	reasonSize = 300 // bytes
)

// scan is what one pass over the rows collects.
type scan struct {
	manifest *corpus.Manifest
	options  Options
	lead     int // the method that sorts the texts
	methods  []methodStats
	words    []word
	top      topTexts
	found    Found
	tokens   int64 // generated
	prompts  int64 // prompt tokens
	reasons  map[string]int64
	others   int64 // errors whose reasons are not in reasons
	numbered bool  // some reason has N for a number
}

func newScan(m *corpus.Manifest, o Options, lead int) *scan {
	s := &scan{
		manifest: m, options: o, lead: lead, reasons: map[string]int64{},
		methods: make([]methodStats, len(m.Methods)), top: topTexts{limit: o.Top},
	}
	for i := range s.methods {
		s.methods[i].layers = map[int32]*layerStats{}
	}
	for _, w := range o.Words {
		s.words = append(s.words, word{Text: w})
	}
	return s
}

// mean is the mean of numbers.
type mean struct {
	sum float64
	n   int64
}

func (m *mean) add(x float64) { m.sum, m.n = m.sum+x, m.n+1 }

// value returns the mean, NaN of nothing.
func (m mean) value() float64 { return m.sum / float64(m.n) }

// histogram counts shares, 0 to 1.
type histogram struct {
	mean
	counts [bins]int64
}

func (h *histogram) add(x float64) {
	h.mean.add(x)
	h.counts[min(max(int(x*bins), 0), bins-1)]++
}

// layerStats are the values of the prompt after one layer.
type layerStats struct{ totals, firsts mean }

// methodStats are the counts of one method. A row is what is known of one generated token.
type methodStats struct {
	// silent counts the rows without values, or with values that are not finite.
	silent int64
	// strongest is the largest share of a prompt token that is no sink, first the share of the
	// first token, and prompt that of the whole prompt.
	strongest, first, prompt histogram
	// layers is by layer, from 0; several says that a record has more than one.
	layers  map[int32]*layerStats
	several bool
	// places is the share of each twentieth of the prompt without sinks, and ends that of the last
	// token, the one before it, and so on.
	places [bins]mean
	ends   [lastTokens]mean
	// steps is the share of the prompt by the number of the generated token.
	steps [firstSteps]mean
}

// add counts a record.
func (s *scan) add(r corpus.Record, result *corpus.Result) error {
	s.found.Records++
	if result.Err != "" {
		s.found.Errors++
		s.addReason(result.Err)
		return nil
	}
	if err := s.checkLengths(r, result); err != nil {
		return err
	}
	s.tokens += int64(len(result.IDs))
	s.prompts += int64(len(result.PromptIDs))
	rest := ordinaryTokens(result)
	for i := range s.methods {
		s.methods[i].add(result, &result.Methods[i], rest)
	}
	s.rank(r, result, rest)
	return nil
}

// addReason counts why a record has no scores. Numbers are left out, so that reasons which differ
// in nothing else are one. Digits that belong to a name, as in UTF-8, stay.
func (s *scan) addReason(why string) {
	var b strings.Builder
	before, number, numbered := ' ', false, false
	for _, c := range strings.ToValidUTF8(why[:min(len(why), reasonSize)], "") {
		switch {
		case c < '0' || c > '9':
			number = false
			b.WriteRune(c)
		case number: // it has its N
		case unicode.IsLetter(before) || strings.ContainsRune("-_0123456789", before):
			b.WriteRune(c)
		default:
			number, numbered = true, true
			b.WriteByte('N')
		}
		before = c
	}
	reason := b.String()
	if _, known := s.reasons[reason]; !known && len(s.reasons) == maxReasons {
		s.others++
		return
	}
	s.reasons[reason]++
	s.numbered = s.numbered || numbered
}

// sortedReasons returns the reasons, the most frequent first.
func (s *scan) sortedReasons() []string {
	return slices.SortedFunc(maps.Keys(s.reasons), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.reasons[b], s.reasons[a]), strings.Compare(a, b))
	})
}

// checkLengths returns an error if the lists of a row do not fit each other.
func (s *scan) checkLengths(r corpus.Record, result *corpus.Result) error {
	n, m := len(result.IDs), len(result.PromptIDs)
	ok := len(result.Texts) == n && len(result.Probability) == n && len(result.PromptTexts) == m &&
		len(result.PromptBegin) == m && len(result.PromptEnd) == m
	for i := range result.Methods {
		x := &result.Methods[i]
		levels := len(x.Layers)
		ok = ok && len(x.Scores) == n*m && len(x.Generated) == n && len(x.Shown) == n &&
			len(x.Totals) == n*levels && len(x.Firsts) == n*levels
	}
	if !ok {
		return pkg.Errorf("record %d of %s: its lists do not fit %d generated and %d "+
			"prompt tokens; verify the corpus", r.Number, r.File, n, m)
	}
	return nil
}

// ordinaryTokens returns the prompt tokens that are neither the first one nor control tokens, which
// have no bytes in the text. A large share on the others is no evidence.
func ordinaryTokens(result *corpus.Result) []int {
	var rest []int
	for j := 1; j < len(result.PromptIDs); j++ {
		if result.PromptEnd[j] > result.PromptBegin[j] {
			rest = append(rest, j)
		}
	}
	return rest
}

// shares fills dst, [m], with the shares of the prompt tokens in what is known of generated token
// t: magnitudes divided by the sum of all, generated tokens included. It returns the share of the
// prompt, and false if there is nothing to divide.
func shares(dst []float64, x *corpus.Scores, t int) (prompt float64, ok bool) {
	m := len(dst)
	sum := 0.0
	for j, v := range x.Scores[t*m : (t+1)*m] {
		dst[j] = math.Abs(float64(v))
		sum += dst[j]
	}
	all := sum + math.Abs(float64(x.Generated[t]))
	if !(all > 0) || math.IsInf(all, 0) {
		return 0, false
	}
	for j := range dst {
		dst[j] /= all
	}
	return sum / all, true
}

// add counts the rows of a record.
func (s *methodStats) add(result *corpus.Result, x *corpus.Scores, rest []int) {
	levels := len(x.Layers)
	row := make([]float64, len(result.PromptIDs))
	s.several = s.several || levels > 1
	for t := range result.IDs {
		prompt, ok := shares(row, x, t)
		if !ok || len(row) == 0 {
			s.silent++
			continue
		}
		s.prompt.add(prompt)
		s.first.add(row[0])
		if t < firstSteps {
			s.steps[t].add(prompt)
		}
		if len(rest) > 0 {
			s.strongest.add(row[strongest(row, rest)])
			s.addPlaces(row, rest)
		}
		for k := range levels {
			layer := x.Layers[k]
			if layer < 0 {
				layer = x.Shown[t]
			}
			if layer < 0 { // a target whose tokens have several
				continue
			}
			at := s.layers[layer]
			if at == nil {
				at = &layerStats{}
				s.layers[layer] = at
			}
			at.totals.add(float64(x.Totals[t*levels+k]))
			at.firsts.add(float64(x.Firsts[t*levels+k]))
		}
	}
}

// strongest returns which of some tokens has the largest share, the first of equal ones.
func strongest(row []float64, among []int) int {
	best := among[0]
	for _, j := range among {
		if row[j] > row[best] {
			best = j
		}
	}
	return best
}

// addPlaces counts shares by the place of their tokens. Token k of r covers the part from k/r to
// (k+1)/r of the prompt, so that short prompts fill all bins.
func (s *methodStats) addPlaces(row []float64, rest []int) {
	var parts [bins]float64
	r := float64(len(rest))
	for k, j := range rest {
		from, to := float64(k)*bins/r, float64(k+1)*bins/r
		for b := int(from); b < bins && float64(b) < to; b++ {
			overlap := min(to, float64(b+1)) - max(from, float64(b))
			parts[b] += row[j] * overlap / (to - from)
		}
	}
	for b, x := range parts {
		s.places[b].add(x)
	}
	for d := range min(lastTokens, len(rest)) {
		s.ends[d].add(row[rest[len(rest)-1-d]])
	}
}
