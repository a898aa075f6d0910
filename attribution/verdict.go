package attribution

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"unicode/utf8"

	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// The values of [Options.Prove] beside the number of a token.
const (
	ProveOpening = "opening"
	ProveAll     = "all"
)

// A picture names the sources of a row that have NamedFrom of its strongest one, at most MostNamed;
// see [Named].
const (
	NamedFrom = .35
	MostNamed = 3
)

// Named returns the sources that a picture names of some that stand out, the strongest first: those
// whose size is at least 0.35 of the first one's, at most 3. [Verdict] tests them.
func Named(sources []int, size func(j int) float64) []int {
	for n := range sources {
		if n == MostNamed || size(sources[n]) < NamedFrom*size(sources[0]) {
			return sources[:n]
		}
	}
	return sources
}

// Verdict tests by intervention what a picture says of one token: what the prediction loses without
// the sources A that it names, and what it loses without as many other words. f is the probability
// of the token:
//
//	f(x),  f(x without A),  f(x without R_i) for random sets R_i of |A| words outside A
//
// Tokens are taken away as by the scorer occlusion. The token after which the prediction comes
// stays, because without it another prediction would be asked for; where the mean of all tokens is
// read, none does. A word of R_i is a token with a letter or a digit that neither is a control
// token nor was written by a chat template.
type Verdict struct {
	// Method is the method of the picture, and Sources are A, the strongest first; see [Named].
	Method  string `json:"method"`
	Sources []int  `json:"sources"`
	// Replacement is what stood in place of the tokens; see [scorer.Options].
	Replacement string `json:"replacement,omitempty"`
	// Broken reports whether a part of a word was deleted while another part stayed, so that what
	// is left is unlike any text.
	Broken bool `json:"broken,omitempty"`
	// Whole is f(x), and Without is f(x without A).
	Whole   float64 `json:"whole"`
	Without float64 `json:"without"`
	// Draws is the number of sets R_i, at most 20, and Others the mean of f without them. Interval
	// is two standard errors of the mean on either side, and Range the lowest and the highest.
	Draws    int        `json:"draws"`
	Others   float64    `json:"others"`
	Interval [2]float64 `json:"interval"`
	Range    [2]float64 `json:"range"`
	// Holds reports whether Without is below Interval: the prediction needs A more than it needs
	// other words.
	Holds bool `json:"holds"`
	// Faithfulness is 1 − f(x without A)/Others, the area between the curve of the method and that
	// of random sets over the area under the latter, of curves with one step: without |A| tokens.
	// It is 1 if nothing is left, 0 if A is like other words, and followed by its value at either
	// end of Interval; nil if nothing is left without other words.
	Faithfulness []float64 `json:"faithfulness,omitempty"`
	// Reason is why there are no numbers, "" if there are.
	Reason string `json:"reason,omitempty"`
	// Opposed is the same test of the sources whose values are against the token, nil without any
	// and where the text is too long for a second test. Its Sources are the strongest two at most,
	// from a twelfth of the strongest of the row on. If it holds, the prediction needs them all the
	// same: a value below 0 is no finding that a token does harm.
	Opposed *Verdict `json:"opposed,omitempty"`
}

const (
	verdictDraws = 20
	mostOpposed  = 2
	// mostRead is how many tokens all verdicts of an explanation may read, twenty copies of some
	// 3,000 tokens. A model of 135 million parameters reads them in two minutes on two cores.
	mostRead = 1 << 16
)

// prove adds the verdicts that the options ask for.
func (r *run) prove(ctx context.Context, m trace.Model) error {
	e := r.e
	if r.opts.Prove == "" || len(e.Steps) == 0 {
		return nil
	}
	if _, ok := m.(trace.Predictor); !ok {
		e.Warnings = append(e.Warnings, "There is no verdict: "+e.Model.Name+
			" does not predict other texts, and so not what it says without some tokens.")
		return nil
	}
	t, err := r.tokenOf("prove", r.opts.Prove)
	if err != nil {
		return err
	}
	tokens := []int{t}
	if t < 0 {
		tokens = nil
	}
	if r.opts.Prove == ProveAll {
		for t := range e.Steps {
			tokens = append(tokens, t)
		}
	}
	read := (verdictDraws + 2) * len(tokens) * len(e.TokenIDs())
	if read > mostRead {
		advice := "a shorter prompt has one"
		if len(tokens) > 1 {
			advice = trace.Called("prove") + " " + ProveOpening + " tests one token alone"
		}
		e.Warnings = append(e.Warnings, fmt.Sprintf("There is no verdict: %d tokens would be read "+
			"again to test what is named, and at most %d are; %s.", read, mostRead, advice))
		return nil
	}
	for i, t := range tokens {
		if r.opts.OnProgress != nil {
			r.opts.OnProgress(trace.Progress{
				Stage: "testing what the picture names", Unit: "token", Done: i, Total: len(tokens),
			})
		}
		v, err := r.verdict(ctx, m, t, 2*read <= mostRead)
		if err != nil {
			return err
		}
		e.Steps[t].Verdict = v
	}
	return nil
}

// verdict tests what the first method says for token t and, if it may read the text twice as often,
// against it.
func (r *run) verdict(ctx context.Context, m trace.Model, t int, twice bool) (*Verdict, error) {
	e := r.e
	g := e.Steps[t]
	v := &Verdict{Method: e.Order[0], Sources: []int{}}
	if g.Unscored {
		v.Reason = "the model gives no probability, which tokens could lower"
		return v, nil
	}
	q := trace.Query{IDs: r.text, Types: r.types}
	q.Quantity, q.Token = trace.Probability, g.ID
	stays := -1
	switch {
	case g.Position != nil:
		q.Position, stays = *g.Position, *g.Position
	case !e.Model.Reads():
		q.IDs = q.IDs[:len(r.ids)+t]
		q.Position, stays = len(q.IDs)-1, len(q.IDs)-1
	}
	q.Edits = trace.EditsWithin(r.ask.Edits, len(q.IDs))
	opts := r.opts.Scoring
	opts.Quantity = trace.Probability
	removal, err := scorer.NewRemoval(ctx, m, q, opts)
	if err != nil {
		return nil, err
	}
	removable := slices.DeleteFunc(removal.Removable(), func(j int) bool { return j == stays })
	if err := r.nameSources(v, t, removable); v.Reason != "" || err != nil {
		return v, err
	}
	test := func(v *Verdict) error {
		draws := e.randomWords(removable, v.Sources, rand.New(rand.NewPCG(opts.Seed, uint64(t))))
		if len(draws) == 0 {
			v.Reason = "there are not as many other words to take away"
			return nil
		}
		v.Replacement = removal.Replacement()
		v.Broken = v.Replacement == "delete" && slices.ContainsFunc(v.Sources, func(j int) bool {
			has := func(j int) bool { return slices.Contains(v.Sources, j) }
			return e.continues(j) && !has(j-1) || j+1 < len(q.IDs) && e.continues(j+1) && !has(j+1)
		})
		values, err := removal.Predict(ctx, append([][]int{nil, v.Sources}, draws...))
		if err == nil {
			v.judge(values[0], values[1], values[2:])
		}
		return err
	}
	if err := test(v); v.Reason != "" || err != nil {
		return v, err
	}
	if against := r.opposing(v.Method, t, removable); len(against) > 0 && twice {
		v.Opposed = &Verdict{Method: v.Method, Sources: against}
		err = test(v.Opposed)
	}
	return v, err
}

// opposing returns the sources of [Verdict.Opposed] in row t of a scorer, none for other methods.
func (r *run) opposing(method string, t int, removable []int) (sources []int) {
	result := r.e.Methods[method]
	row, strongest := result.Row(t, result.Level(t)), 0.0
	size := func(j int) float64 { return math.Abs(row[j]) }
	for j, x := range row {
		if strongest = max(strongest, size(j)); result.Scorer && x < 0 &&
			!r.e.RestsOn(result, j) && slices.Contains(removable, j) {
			sources = append(sources, j)
		}
	}
	sources = slices.DeleteFunc(sources, func(j int) bool { return size(j) < strongest/12 })
	slices.SortStableFunc(sources, func(a, b int) int { return cmp.Compare(size(b), size(a)) })
	return sources[:min(len(sources), mostOpposed)]
}

// nameSources sets the sources that the picture names in row t, or the reason why none of them can
// be taken away.
func (r *run) nameSources(v *Verdict, t int, removable []int) error {
	result := r.e.Methods[v.Method]
	silent, err := r.e.Silent(v.Method, ShownLevel)
	if err != nil {
		return err
	}
	if silent[t] != "" || result.Evidence == trace.Chance {
		v.Reason = "the method says nothing about this token"
		return nil
	}
	row, neutral := result.Row(t, result.Level(t)), 0.0
	if result.Quantity == Lift {
		neutral = 1
	}
	var standing []int
	for j, x := range row {
		asked := result.Evidence == trace.Tested && !r.e.Model.Reads() && j == len(row)-1
		if x > neutral && !r.e.RestsOn(result, j) && !asked {
			standing = append(standing, j)
		}
	}
	size := func(j int) float64 { return row[j] - neutral }
	slices.SortStableFunc(standing, func(a, b int) int { return cmp.Compare(size(b), size(a)) })
	for _, j := range Named(standing, size) {
		if slices.Contains(removable, j) {
			v.Sources = append(v.Sources, j)
		}
	}
	switch {
	case len(standing) == 0:
		v.Reason = "no source stands out that could be taken away"
	case len(v.Sources) == 0:
		v.Reason = "what is named cannot be taken away: the prediction is read there"
	}
	return nil
}

// judge sets the numbers: f of the whole text, without the sources, and without each random set.
func (v *Verdict) judge(whole, without float64, others []float64) {
	n := float64(len(others))
	v.Whole, v.Without, v.Draws, v.Others = whole, without, len(others), rowmath.Total(others)/n
	v.Range = [2]float64{slices.Min(others), slices.Max(others)}
	squares := 0.0
	for _, x := range others {
		squares += (x - v.Others) * (x - v.Others)
	}
	spread := 2 * math.Sqrt(squares/max(n-1, 1)/n)
	v.Interval = [2]float64{v.Others - spread, v.Others + spread}
	v.Holds = without < v.Interval[0]
	if v.Interval[0] > 0 {
		for _, x := range []float64{v.Others, v.Interval[0], v.Interval[1]} {
			v.Faithfulness = append(v.Faithfulness, 1-without/x)
		}
	}
}

// randomWords returns up to 20 random sets of as many words as there are sources, and none of
// these, each in rising order; of one word each another one.
func (e *Explanation) randomWords(removable, sources []int, rng *rand.Rand) (sets [][]int) {
	words := slices.DeleteFunc(slices.Clone(removable), func(j int) bool {
		return slices.Contains(sources, j) || !e.isWord(j)
	})
	size, most := len(sources), verdictDraws
	switch {
	case len(words) < size:
		return nil
	case len(words) == size:
		most = 1
	case size == 1:
		most = min(most, len(words))
	}
	at := len(words)
	for range most {
		if at+size > len(words) {
			rng.Shuffle(len(words), func(a, b int) { words[a], words[b] = words[b], words[a] })
			at = 0
		}
		set := slices.Clone(words[at : at+size])
		slices.Sort(set)
		sets, at = append(sets, set), at+size
	}
	return sets
}

// isWord reports whether token j has a letter or a digit and was written neither as a control token
// nor by a chat template.
func (e *Explanation) isWord(j int) bool {
	p := &e.Prompt
	if j < len(p.Texts) {
		begin := p.Offsets[j][0]
		if p.Special[j] || slices.ContainsFunc(p.Parts, func(part trace.Part) bool {
			return part.Template && part.Begin <= begin && begin < part.End
		}) {
			return false
		}
	}
	return slices.ContainsFunc([]rune(e.textOf(j)), InWord)
}

// textOf returns token j of the text.
func (e *Explanation) textOf(j int) string {
	if m := len(e.Prompt.Texts); j >= m {
		return e.Steps[j-m].Text
	}
	return e.Prompt.Texts[j]
}

// continues reports whether token j continues the word of the token before it.
func (e *Explanation) continues(j int) bool {
	if j == 0 || j < len(e.Prompt.Texts) && e.Prompt.Offsets[j][0] != e.Prompt.Offsets[j-1][1] {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(e.textOf(j - 1))
	first, _ := utf8.DecodeRuneInString(e.textOf(j))
	return InWord(before) && InWord(first)
}
