package attribution

import (
	"maps"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// ParseTarget reads how generated tokens are grouped, so that a row explains a word, a sentence or
// the answer as a whole: "answer", "word", "sentence", one of the last two such as "sentence:3",
// which counts from 1, ranges of generated tokens such as "4:9,12:15", or "" for tokens. A range is
// BEGIN:END, counted from 0 and without END; ranges do not overlap. It returns a [trace.UsageError]
// for anything else.
func ParseTarget(s string) (Grouping, error) {
	g, wrong := parseTarget(s)
	if wrong != "" {
		return g, trace.Usagef("target %s: %s", message.Quote(s), wrong)
	}
	return g, nil
}

// parseTarget is ParseTarget with what is wrong, "" if nothing is, instead of an error.
func parseTarget(s string) (g Grouping, wrong string) {
	if name, n, ok := ReadNumbered(s, "word", "sentence"); ok {
		return Grouping{name: name, number: n}, ""
	}
	g, ok := readGrouping(s, "answer", "word", "sentence")
	slices.SortFunc(g.ranges, func(a, b [2]int) int { return a[0] - b[0] })
	for i, r := range g.ranges {
		ok = ok && (i == 0 || g.ranges[i-1][1] <= r[0])
	}
	if ok {
		return g, ""
	}
	return Grouping{}, message.DidYouMean(s, []string{"answer", "word", "sentence"}) + "want " +
		"answer, word, sentence, one of them as sentence:3, counted from 1, or generated tokens " +
		"as BEGIN:END,BEGIN:END, counted from 0, END not included and none twice"
}

// fits returns a usage error if a range ends after the last of n generated tokens.
func (g Grouping) fits(n int) error {
	if k := len(g.ranges); k > 0 && g.ranges[k-1][1] > n {
		return LookupOption("target").usagef("%s %s; there %s %s, from 0",
			trace.Called("target"), g, message.IsOrAre(n), message.Count(n, "generated token"))
	}
	return nil
}

// stretch is adjacent generated tokens, [begin,end), that are explained together. rest says that
// the target does not name them.
type stretch struct {
	begin, end int
	rest       bool
}

// divide returns the stretches of generated tokens, without gaps. There may be more tokens than
// that later: a stretch that is not the last one stays as it is. The error, a usage error, says
// that the text does not have what the target names; the stretches are then right all the same.
func (g Grouping) divide(steps []GeneratedToken) (all []stretch, err error) {
	parts, count := g.parts(steps)
	for t, part := range parts {
		rest := part < 0 && (g.name == "answer" || g.number > 0 || len(g.ranges) > 0)
		if t > 0 && part == parts[t-1] && (part >= 0 || rest) {
			all[len(all)-1].end++
			continue
		}
		all = append(all, stretch{t, t + 1, rest})
	}
	if g.number > count {
		err = LookupOption("target").usagef("%s %s; the generated text has %s",
			trace.Called("target"), g, message.Count(count, g.name))
	} else {
		err = g.fits(len(steps))
	}
	return all, err
}

// parts returns for each generated token the number of the part that it is in, -1 for none, and how
// many parts of that kind the text has.
func (g Grouping) parts(steps []GeneratedToken) (parts []int, count int) {
	parts = slices.Repeat([]int{-1}, len(steps))
	if g.name == "answer" { // but for the control tokens that end it
		n := len(steps)
		for n > 1 && steps[n-1].Special {
			n--
		}
		clear(parts[:n])
		return parts, 1
	}
	for k, r := range g.ranges {
		for t := r[0]; t < min(r[1], len(steps)); t++ {
			parts[t] = k
		}
	}
	if g.name == "" {
		return parts, len(g.ranges)
	}
	var p Prompt
	var text strings.Builder
	for _, s := range steps {
		begin := text.Len()
		text.WriteString(s.Text)
		p.Offsets = append(p.Offsets, [2]int{begin, text.Len()})
	}
	p.Text = text.String()
	of := sentenceOf(p.Text)
	if g.name == "word" {
		of = wordOf(p.Text)
	}
	last := -1 // the latest part; a control token divides a part in two
	for t, s := range steps {
		part := p.partOf(p.Offsets[t], of)
		if part < 0 || s.Special {
			last = -1
			continue
		}
		if part != last {
			count, last = count+1, part
		}
		if g.number == 0 || g.number == count {
			parts[t] = count - 1
		}
	}
	return parts, count
}

// groupTargets returns a copy in which each row is that of a stretch of generated tokens:
//
//	M[G,j,l] = Σ_{t∈G} M[t,j,l]
//
// or the highest of the values where they do not add up, as those of flow do not. Generated tokens
// as sources are grouped in the same way, so a row has one more of them than there are rows before
// it: the last one, its own, is what later tokens of the group have from earlier ones. A method
// whose tokens have different layers shown has only the layers shown, unless all are asked for.
func (e *Explanation) groupTargets(target Grouping, allLayers bool) (*Explanation, error) {
	all, err := target.divide(e.Steps)
	g := *e
	g.Steps = nil
	for _, s := range all {
		g.Steps = append(g.Steps, joinSteps(e.Steps[s.begin:s.end], s.rest))
	}
	g.Methods = map[string]*Result{}
	for name, r := range e.Methods {
		g.Methods[name] = r.groupTargets(all, allLayers)
		g.Methods[name].Target = target.String()
		g.Methods[name].Options["target"] = target.String()
	}
	return &g, err
}

// joinSteps returns some generated tokens as one. Its probability is that of all of them, one after
// the other.
func joinSteps(steps []GeneratedToken, rest bool) GeneratedToken {
	g := steps[0]
	g.IDs, g.Rest, g.Probability, g.Text = []int{}, rest, 1, ""
	for _, s := range steps {
		g.IDs, g.Text = append(g.IDs, s.ID), g.Text+s.Text
		g.Probability *= s.Probability
		g.Special, g.Forced = g.Special && s.Special, g.Forced && s.Forced
		g.Unscored = g.Unscored || s.Unscored
	}
	if len(steps) > 1 {
		g.Alternatives, g.Scores = []Alternative{}, nil
	}
	return g
}

// groupTargets returns the result with a row for each stretch.
func (r *Result) groupTargets(all []stretch, allLayers bool) *Result {
	g, m, L := *r, r.Shape[1], r.Shape[2]
	f := r.describeTargets(&g)
	g.Rows, g.Shown, g.OtherMass = nil, nil, nil
	g.Explained, g.Residue = sumsOf(r.Explained, all), sumsOf(r.Residue, all)
	for _, s := range all {
		g.Shown = append(g.Shown, r.shownIn(s, allLayers))
	}
	level := func(_, k int) int { return k }
	if L > 1 && slices.Contains(g.Shown, LayerByToken) {
		g.Layers = []int{LayerByToken}
		level = func(t, _ int) int { return r.Level(t) }
	}
	K := len(g.Layers)
	g.Shape = [3]int{len(all), m, K}
	var in []int // from a generated token to its stretch
	for i, s := range all {
		in = append(in, slices.Repeat([]int{i}, s.end-s.begin)...)
	}
	for i, s := range all {
		for k := range K {
			row, sum := make([]float64, m+i+1), 0.0
			for t := s.begin; t < s.end; t++ {
				at := level(t, k)
				for j, x := range r.Row(t, at) {
					if j >= m {
						j = m + in[j-m]
					}
					row[j] = f(row[j], x)
				}
				sum += r.OtherMass[t*L+at]
			}
			g.Rows, g.OtherMass = append(g.Rows, row), append(g.OtherMass, sum)
		}
	}
	return &g
}

// describeTargets sets the unit and the options of a result with rows of several tokens, g. It
// returns the function that combines values, of which none is below 0 unless they are added up.
func (r *Result) describeTargets(g *Result) func(a, b float64) float64 {
	f, how := func(a, b float64) float64 { return a + b }, "sum"
	if r.AddsUp {
		g.Quantity = Amount // shares of several rows may be more than one row
	} else {
		f, how = func(a, b float64) float64 { return max(a, b) }, "highest"
	}
	g.Options = maps.Clone(r.Options)
	g.Options["targets"] = how + " of tokens"
	g.Unit = how + " over the target's tokens of " + r.Unit
	return f
}

// shownIn returns the layer that a picture of some generated tokens shows: that of all of them; of
// different ones the layer of most tokens, the deepest of equally many, if the result has all
// layers and they are asked for, else [LayerByToken].
func (r *Result) shownIn(s stretch, allLayers bool) int {
	count := map[int]int{}
	most := LayerByToken
	for _, layer := range r.Shown[s.begin:s.end] {
		count[layer]++
	}
	for layer, n := range count {
		if n > count[most] || n == count[most] && layer > most {
			most = layer
		}
	}
	if len(count) > 1 && (!allLayers || len(r.Layers) == 1) {
		return LayerByToken
	}
	return most
}

// sumsOf returns the sums of numbers over stretches, nil if there are none.
func sumsOf(numbers []float64, all []stretch) (sums []float64) {
	if numbers == nil {
		return nil
	}
	for _, s := range all {
		sums = append(sums, rowmath.Total(numbers[s.begin:s.end]))
	}
	return sums
}
