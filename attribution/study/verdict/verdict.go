// Package verdict is the study that tests by intervention what a picture says: what a prediction
// loses without the words that the picture names, and without as many others.
package verdict

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

func init() {
	attribution.RegisterStudy(&attribution.Study{
		Name: Name,
		Options: []attribution.StudyOption{{
			Name: "prove", Flag: Option, Off: Off,
			Help: "test what a picture says of a token by what the prediction loses without the " +
				"sources that it names, and without other words: `auto|opening|all|N|off`, the " +
				"token that the picture opens at if it takes a second or so, that one in any " +
				"case, all, token N from 0, or none; a test reads 7 to 13 more texts like it " +
				"(default auto for a heatmap of tokens)",
			Wrong: func(s string) string {
				return attribution.WrongToken(s, Auto, attribution.OpeningToken, All, Off)
			},
			Ungrouped: "it tests tokens as the model has them",
		}},
		Token: func() any { return &Verdict{} },
		Begin: begin,
	})
}

// Name is the name of the study, and Option that of its option.
const (
	Name   = "verdict"
	Option = "prove"
)

// The values of the option beside the number of a token and [attribution.OpeningToken]. Auto is the
// opening one where the test is cheap: where it takes at most 2^35 multiplications by the count of
// [Verdict], and a third of that in pure Go.
const (
	All  = "all"
	Auto = "auto"
	Off  = "off"
)

// Asked reports whether a picture is tested.
func Asked(o *attribution.Options) bool {
	return attribution.LookupOption(Option).Given(o)
}

// Of returns what a test says of a generated token, nil if none was made.
func Of(g attribution.GeneratedToken) *Verdict {
	return attribution.Finding[Verdict](g.Studies, Name)
}

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
// the words A that it names, and what it loses without as many other words. f is the probability
// of the token or, of a method that explains it with a contrast, the difference of the two logits:
// their log-odds, which the method explains.
//
//	f(x),  f(x without A),  f(x without R_i) for sets R_i of |A| words outside A
//
// The sets are all that there are if these are at most 64. Else, or where they take too long for a
// test that nobody asked for, there are 5 random ones and, if f(x without A) is within three
// standard errors of their mean, 5 more: the rule of Haybittle and Peto (Peto et al. 1976) for
// looking at a trial before its end.
//
// Words, [attribution.Explanation.ContinuesWord], are taken away whole and as by the scorer
// occlusion: what is left without a piece of one would be unlike any text. The word after which the
// prediction comes stays, because without it another prediction would be asked for; where the mean
// of all tokens is read, none does. What attention rests on whatever a row is about,
// [attribution.Explanation.RestsOn], stays, too. A word of R_i has a letter or a digit and was
// written neither as a control token nor by a chat template.
//
// Of a text of T tokens, a token takes 12·L·D² + 2·L·D·T multiplications (Kaplan et al. 2020, §2.1,
// without the embedding and the head). Beside them, a score of each of H heads counts as 128: its
// softmax reads and writes memory, which is most of the time of a small model on a long text.
type Verdict struct {
	// Method is the method of the picture, and Sources are the tokens of A: of each word the
	// strongest first, as the words are; see [Named].
	Method  string `json:"method"`
	Sources []int  `json:"sources"`
	// Quantity is what f is: a probability, or a logit with Contrast, minus that of this token or
	// class.
	Quantity trace.Quantity `json:"quantity"`
	Contrast string         `json:"contrast,omitempty"`
	// Replacement is what stood in place of the tokens; see [scorer.Options].
	Replacement string `json:"replacement,omitempty"`
	// Whole is f(x), and Without is f(x without A).
	Whole   float64 `json:"whole"`
	Without float64 `json:"without"`
	// Draws is the number of sets R_i, at most 64, and Others the mean of f without them. Interval
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
	// end of Interval; nil if nothing is left without other words, and of a difference.
	Faithfulness []float64 `json:"faithfulness,omitempty"`
	// Read is how many tokens were read or, with a Reason, would be read at least for the numbers;
	// 0 if there can be none. Beginnings that texts share are read once.
	Read int `json:"read,omitempty"`
	// Reason is why there are no numbers, "" if there are.
	Reason string `json:"reason,omitempty"`
	// Repeated is what is left without A and the other places in the text that have a word of A,
	// nil if there are none or if that is left out to be fast enough.
	Repeated *Repeated `json:"repeated,omitempty"`
	// Opposed is what is left without the sources whose values are against the token, nil without
	// any.
	Opposed *Opposed `json:"opposed,omitempty"`
}

// Repeated is f(x without A and S) for the tokens S of words that are those of A in other places,
// case and spaces apart: a prediction may need a word, wherever it stands.
type Repeated struct {
	Sources []int   `json:"sources"`
	Without float64 `json:"without"`
}

// Opposed is f(x without O) for the words O whose values are against the token: the strongest two
// at most, from a twelfth of the strongest of the row on. If f falls without them, the prediction
// needs them all the same: a value below 0 is no finding that a token does harm.
type Opposed struct {
	Sources []int   `json:"sources"`
	Without float64 `json:"without"`
}

const (
	firstDraws   = 5
	verdictDraws = 10
	allDraws     = 64 // the most sets that are all taken
	// decidedFrom is how many standard errors from the mean of the first draws the prediction
	// without A must be for no more draws to be made.
	decidedFrom = 3
	mostOpposed = 2
	// mostRead is how many tokens all verdicts of an explanation may read, fourteen copies of some
	// 4,700 tokens. A model of 135 million parameters reads them in two minutes on two cores.
	mostRead = 1 << 16
	// mostUnasked is how many multiplications a test that nobody asked for may take: 280 tokens of
	// a model of 135 million parameters. The pure-Go backend takes slowness times as long for them.
	mostUnasked = 1 << 35
	slowness    = 3
	scoreCost   = 128
	// batchTokens is how many tokens the texts have that a model reads at once, as in package
	// transformer. Texts of different batches share nothing.
	batchTokens = 4096
)

// run is the study of one text.
type run struct {
	*attribution.StudyRun
	e *attribution.Explanation
	// silent, sinks and rowSinks are those of the rows of the first method, found once for all
	// tokens that are tested.
	silent   []string
	sinks    []attribution.Sink
	rowSinks []int
}

// begin returns an error if a token is to be proven that is not asked for. The text may end
// earlier, which the end finds.
func begin(s *attribution.StudyRun) (attribution.StudySteps, error) {
	r := &run{StudyRun: s, e: s.Explanation}
	_, err := r.Token("prove")
	return attribution.StudySteps{End: r.prove}, err
}

// auto reports whether nobody asked for a test that is expensive.
func (r *run) auto() bool { return r.Setting(Option) == Auto }

// prove adds the verdicts that are asked for.
func (r *run) prove(ctx context.Context) error {
	e := r.e
	if _, ok := r.Model.(trace.Predictor); !ok {
		if !r.auto() {
			r.Warn("There is no verdict: " + e.Model.Name + " does not predict other texts, and " +
				"so not what it says without some tokens.")
		}
		return nil
	}
	t, err := r.Token("prove")
	if err != nil {
		return err
	}
	if r.auto() {
		t = r.Opening()
	}
	var tokens []int
	switch {
	case r.Setting(Option) == All:
		for t := range e.Steps {
			tokens = append(tokens, t)
		}
	case t < 0:
		return nil
	default:
		tokens = []int{t}
	}
	read := (verdictDraws + 4) * len(tokens) * len(e.TokenIDs())
	if read > mostRead && !r.auto() {
		advice := "a shorter prompt has one"
		if len(tokens) > 1 {
			advice = "prove " + attribution.OpeningToken + " tests one token alone"
		}
		r.Warn(fmt.Sprintf("There is no verdict: %d tokens would be read again to test what is "+
			"named, and at most %d are; %s.", read, mostRead, advice))
		return nil
	}
	for i, t := range tokens {
		r.Progress("testing what the picture names", "token", i, len(tokens))
		v, err := r.verdict(ctx, t, len(tokens))
		if err != nil {
			return err
		}
		if r.auto() && v.Reason != "" && v.Read == 0 {
			continue // nobody asked
		}
		e.Steps[t].Studies.Set(Name, v)
	}
	return nil
}

// verdict tests what the first method says for token t, one of some tokens that are tested, and
// what it says against it.
func (r *run) verdict(ctx context.Context, t, tokens int) (*Verdict, error) {
	e := r.e
	g := e.Steps[t]
	v := &Verdict{Method: e.Order[0], Sources: []int{}, Quantity: trace.Probability}
	if g.Unscored || e.Model.Head == trace.Spans { // whose queries have logits alone
		v.Reason = "the model gives no probability, which tokens could lower"
		return v, nil
	}
	q := trace.Query{IDs: e.TokenIDs(), Types: e.Prompt.Types}
	if v.Contrast = e.Methods[v.Method].Contrast; v.Contrast != "" {
		v.Quantity, q.Contrast = trace.Logit, r.Contrast
	}
	q.Quantity, q.Token = v.Quantity, g.ID
	stays := -1
	switch {
	case g.Position != nil:
		q.Position, stays = *g.Position, *g.Position
	case !e.Model.Reads():
		q.IDs = q.IDs[:len(e.Prompt.IDs)+t]
		q.Position, stays = len(q.IDs)-1, len(q.IDs)-1
	}
	q.Edits = trace.EditsWithin(e.Edits, len(q.IDs))
	opts := r.Options.Scoring
	opts.Quantity = q.Quantity
	removal, err := scorer.NewRemoval(ctx, r.Model, q, opts)
	if err != nil {
		return nil, err
	}
	removable := make([]bool, len(q.IDs))
	for _, j := range removal.Removable() {
		removable[j] = j != stays
	}
	words := wordsOf(e, len(q.IDs), func(j int) bool { return removable[j] })
	if err := r.nameSources(v, t, words); v.Reason != "" || err != nil {
		return v, err
	}
	others, size := otherWords(e, words, v.Sources)
	if len(others) < size {
		v.Reason = "there are not as many other words to take away"
		return v, nil
	}
	v.Replacement = removal.Replacement()
	sets := [][]int{nil, v.Sources}
	if against := r.opposing(v, t, words); len(against) > 0 {
		v.Opposed, sets = &Opposed{Sources: against}, append(sets, against)
	}
	first, draws := len(sets), allSets(others, size)
	drawn, read := len(draws), r.reads(removal, slices.Concat(sets, draws))
	if drawn == 0 || read > mostRead/tokens || r.unasked(read, len(q.IDs)) {
		draws = randomSets(others, size, min(verdictDraws, cmp.Or(drawn, verdictDraws)),
			rand.New(rand.NewPCG(opts.Seed, uint64(t))))
		drawn = min(firstDraws, len(draws))
	}
	sets = append(sets, draws[:drawn]...)
	if v.Read = r.reads(removal, sets); r.unasked(v.Read, len(q.IDs)) {
		v.Reason = fmt.Sprintf("it would read %d tokens again", v.Read)
		return v, nil
	}
	if again := repeats(e, words, v.Sources); len(again) > 0 {
		all := append(sets, slices.Concat(v.Sources, again))
		if read := r.reads(removal, all); !r.unasked(read, len(q.IDs)) {
			v.Repeated, v.Read, sets = &Repeated{Sources: again}, read, all
		}
	}
	values, err := removal.Predict(ctx, sets)
	if r.auto() && trace.KindOf(err) == trace.MemoryKind {
		v.Reason = "there is too little memory"
		return v, nil
	}
	if err != nil {
		return v, err
	}
	if v.Opposed != nil {
		v.Opposed.Without = values[2]
	}
	if v.Repeated != nil {
		v.Repeated.Without = values[first+drawn]
	}
	values = values[:first+drawn]
	v.judge(values[0], values[1], values[first:])
	if len(draws) == drawn || v.decided() {
		return v, nil
	}
	read = v.Read + r.reads(removal, draws[drawn:])
	if r.unasked(read, len(q.IDs)) {
		return v, nil
	}
	more, err := removal.Predict(ctx, draws[drawn:])
	if r.auto() && trace.KindOf(err) == trace.MemoryKind {
		return v, nil
	}
	if err == nil {
		v.Read = read
		v.judge(values[0], values[1], slices.Concat(values[first:], more))
	}
	return v, err
}

// reads returns how many tokens are read to predict a text without each of some sets. In a decoder
// the tokens before the first one that is taken away are read once in a batch.
func (r *run) reads(removal *scorer.Removal, sets [][]int) (n int) {
	whole, info := removal.Without().IDs, r.e.Model
	again := info.Reads() || info.EncoderLayers > 0
	n = len(whole)
	for _, set := range sets {
		ids, shared := removal.Without(set...).IDs, 0
		for !again && shared < len(ids) && ids[shared] == whole[shared] {
			shared++
		}
		n += len(ids) - shared
	}
	inBatch := max(1, batchTokens/len(whole))
	return max(n, (len(sets)+inBatch-1)/inBatch*len(whole))
}

// unasked reports whether nobody asked for a test and it takes too long: of some tokens in texts of
// up to T.
func (r *run) unasked(tokens, T int) bool {
	return r.auto() && Seconds(r.e.Model, tokens, T) > 1
}

// Seconds returns about how long two cores take to read some tokens of texts of T tokens, by the
// count of [Verdict].
func Seconds(m trace.Info, tokens, T int) float64 {
	L, D, H := float64(m.Layers), float64(m.Width), float64(m.Heads)
	cost := float64(tokens) * L * (12*D*D + (2*D+scoreCost*H)*float64(T))
	if m.Backend == "go" {
		cost *= slowness
	}
	return cost / mostUnasked
}

// decided reports whether no more draws are needed.
func (v *Verdict) decided() bool {
	standardError := (v.Interval[1] - v.Others) / 2
	return math.Abs(v.Without-v.Others) > decidedFrom*standardError
}

// opposing returns the sources of [Verdict.Opposed] in row t of a scorer, none for other methods.
// Words that v takes away as a whole already are not among them.
func (r *run) opposing(v *Verdict, t int, words [][]int) []int {
	result := r.e.Methods[v.Method]
	row, strongest := result.Row(t, result.Level(t)), 0.0
	var sources []int
	size := func(j int) float64 { return math.Abs(row[j]) }
	for j, x := range row {
		if strongest = max(strongest, size(j)); result.Scorer && x < 0 &&
			!r.e.RestsOn(result, j) && j < len(words) && words[j] != nil &&
			!slices.Contains(v.Sources, j) {
			sources = append(sources, j)
		}
	}
	sources = slices.DeleteFunc(sources, func(j int) bool { return size(j) < strongest/12 })
	slices.SortStableFunc(sources, func(a, b int) int { return cmp.Compare(size(b), size(a)) })
	return wordsWith(words, sources[:min(len(sources), mostOpposed)])
}

// findSinks finds what the first method says nothing of, and its sinks.
func (r *run) findSinks() (err error) {
	if r.silent != nil {
		return nil
	}
	method := r.e.Order[0]
	if r.silent, err = r.e.Silent(method, attribution.ShownLevel); err != nil {
		return err
	}
	if r.sinks, err = r.e.Sinks(method, attribution.ShownLevel); err != nil {
		return err
	}
	r.rowSinks, err = r.e.RowSinks(method, attribution.ShownLevel)
	return err
}

// nameSources sets the words that the picture names in row t, or the reason why none of them can be
// taken away. The picture names no sinks.
func (r *run) nameSources(v *Verdict, t int, words [][]int) error {
	result := r.e.Methods[v.Method]
	if err := r.findSinks(); err != nil {
		return err
	}
	if r.silent[t] != "" || result.Evidence == trace.Chance {
		v.Reason = "the method says nothing about this token"
		return nil
	}
	row, neutral := result.Row(t, result.Level(t)), 0.0
	if result.Quantity == attribution.Lift {
		neutral = 1
	}
	var standing, tested []int
	for j, x := range row {
		if x > neutral && j != r.rowSinks[t] &&
			!slices.ContainsFunc(r.sinks, func(s attribution.Sink) bool {
				return s.Position == j
			}) {
			standing = append(standing, j)
		}
	}
	size := func(j int) float64 { return row[j] - neutral }
	slices.SortStableFunc(standing, func(a, b int) int { return cmp.Compare(size(b), size(a)) })
	reads := false
	for _, j := range Named(standing, size) {
		switch {
		case r.e.RestsOn(result, j):
		case j >= len(words) || words[j] == nil:
			reads = true
		default:
			tested = append(tested, j)
		}
	}
	v.Sources = append(v.Sources, wordsWith(words, tested)...)
	switch {
	case reads && len(tested) == 0:
		v.Reason = "what is named cannot be taken away: the prediction is read there"
	case len(tested) == 0:
		v.Reason = "no source stands out that could be taken away"
	}
	return nil
}

// wordsOf returns for each of the first n tokens the tokens of its word, nil if one of them cannot
// be taken away, [n].
func wordsOf(e *attribution.Explanation, n int, removable func(j int) bool) [][]int {
	words, joins := make([][]int, n), e.ContinuesWord()
	for begin, end := 0, 0; begin < n; begin = end {
		word := []int{begin}
		for end = begin + 1; end < n && joins[end]; end++ {
			word = append(word, end)
		}
		if !slices.ContainsFunc(word, func(j int) bool { return !removable(j) }) {
			for _, j := range word {
				words[j] = word
			}
		}
	}
	return words
}

// wordsWith returns some tokens, each once, with the other tokens of its word after it.
func wordsWith(words [][]int, tokens []int) (all []int) {
	for _, first := range tokens {
		for _, j := range append([]int{first}, words[first]...) {
			if !slices.Contains(all, j) {
				all = append(all, j)
			}
		}
	}
	return all
}

// repeats returns the tokens of the words that are the words of some sources in other places.
func repeats(e *attribution.Explanation, words [][]int, sources []int) (others []int) {
	spelled := func(word []int) (text string) {
		for _, j := range word {
			text += textOf(e, j)
		}
		return strings.ToLower(strings.TrimSpace(text))
	}
	named := map[string]bool{}
	for _, j := range sources {
		if isWord(e, words[j]) {
			named[spelled(words[j])] = true
		}
	}
	for j, word := range words {
		if word != nil && word[0] == j && !slices.Contains(sources, j) && isWord(e, word) &&
			named[spelled(word)] {
			others = append(others, word...)
		}
	}
	return others
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
	v.Holds, v.Faithfulness = without < v.Interval[0], nil
	if v.Quantity == trace.Probability && v.Interval[0] > 0 {
		for _, x := range []float64{v.Others, v.Interval[0], v.Interval[1]} {
			v.Faithfulness = append(v.Faithfulness, 1-without/x)
		}
	}
}

// otherWords returns the words that are not those of the sources, and how many these are. words has
// the word of each token.
func otherWords(
	e *attribution.Explanation, words [][]int, sources []int,
) (others [][]int, size int) {
	for j, word := range words {
		switch {
		case word == nil || word[0] != j:
		case slices.ContainsFunc(word, func(j int) bool { return slices.Contains(sources, j) }):
			size++
		case isWord(e, word):
			others = append(others, word)
		}
	}
	return others, size
}

// allSets returns the tokens of each set of size words, nil if there are more than 64 sets.
func allSets(words [][]int, size int) (sets [][]int) {
	if size == 0 {
		return [][]int{nil}
	}
	for i := range words {
		with := allSets(words[i+1:], size-1)
		if with == nil && len(words)-i-1 >= size-1 || len(sets)+len(with) > allDraws {
			return nil
		}
		for _, set := range with {
			sets = append(sets, slices.Concat(words[i], set))
		}
	}
	return sets
}

// randomSets returns n random sets of size words, each in rising order; of one word each another
// one, if there are n.
func randomSets(words [][]int, size, n int, rng *rand.Rand) (sets [][]int) {
	for at := len(words); len(sets) < n; at += size {
		if at+size > len(words) {
			rng.Shuffle(len(words), func(a, b int) { words[a], words[b] = words[b], words[a] })
			at = 0
		}
		sets = append(sets, slices.Sorted(slices.Values(slices.Concat(words[at:at+size]...))))
	}
	return sets
}

// isWord reports whether tokens have a letter or a digit and were written neither as control tokens
// nor by a chat template.
func isWord(e *attribution.Explanation, tokens []int) bool {
	p := &e.Prompt
	return !slices.ContainsFunc(tokens, func(j int) bool {
		return j < len(p.Texts) && (p.Special[j] ||
			slices.ContainsFunc(p.Parts, func(part trace.Part) bool {
				at := p.Offsets[j][0]
				return part.Kind != trace.Words && part.Begin <= at && at < part.End
			}))
	}) && slices.ContainsFunc(tokens, func(j int) bool {
		return slices.ContainsFunc([]rune(textOf(e, j)), units.InWord)
	})
}

// textOf returns token j of the text.
func textOf(e *attribution.Explanation, j int) string {
	if m := len(e.Prompt.Texts); j >= m {
		return e.Steps[j-m].Text
	}
	return e.Prompt.Texts[j]
}
