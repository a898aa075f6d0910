// Package verdict is the study that tests by intervention what a picture says: what a word of the
// answer loses without the words that the picture names, and without others.
package verdict

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

func init() {
	attribution.RegisterStudy(&attribution.Study{
		Name: Name, Words: true,
		Options: []attribution.StudyOption{{
			Name: "prove", Flag: Option, Off: Off,
			Help: "test what a picture says of a word by what its probability is without each " +
				"word that it names, and without others: `auto|opening|all|N|off`, the word " +
				"that the picture opens at if the test takes no longer than the explanation, " +
				"that one in any case, all, that of token N from 0, or none (default auto for " +
				"a heatmap of tokens)",
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
// opening one where the test takes no more multiplications than the explanation; see [Seconds].
const (
	All  = "all"
	Auto = "auto"
	Off  = "off"
)

// Asked reports whether a picture is tested.
func Asked(o *attribution.Options) bool {
	return attribution.LookupOption(Option).Given(o)
}

// Of returns what a test says of the word that begins with a generated token, nil if none was made.
func Of(g attribution.GeneratedToken) *Verdict {
	return attribution.Finding[Verdict](g.Studies, Name)
}

// A picture names the words of a row that have NamedFrom of its strongest one, of at most MostNamed
// texts; see [Named].
const (
	NamedFrom = .6
	MostNamed = 2
)

// Named returns the sources that a picture names of some that stand out, the strongest first: those
// whose size is at least 0.6 of the first one's, at most 2. [Verdict] tests them.
func Named(sources []int, size func(j int) float64) []int {
	for n := range sources {
		if n == MostNamed || size(sources[n]) < NamedFrom*size(sources[0]) {
			return sources[:n]
		}
	}
	return sources
}

// Verdict tests by intervention what a picture says of one word of the answer: how probable the
// word is as the text stands, without each word that the picture names, and without other words.
// The probability of a word is the product over its tokens, which are read with their own ids after
// the changed text. With a contrast it is one token's share of both, p/(p+q), which the difference
// of their logits gives.
//
// Words, [attribution.Explanation.ContinuesWord], are taken away whole, each alone, and as by the
// scorer occlusion: what is left without a piece of one would be unlike any text. The word after
// which the prediction comes stays, because without it another prediction would be asked for; where
// the mean of all tokens is read, none does. Sinks, what a chat template wrote and control tokens
// stay, too.
type Verdict struct {
	// Method is the method of the picture. Rows are the generated tokens [begin,end) of the word,
	// or the prediction of a model that reads.
	Method string `json:"method"`
	Rows   [2]int `json:"rows"`
	// Contrast is the token or class that the token is compared with, "" for none.
	Contrast string `json:"contrast,omitempty"`
	// Replacement is what stood in place of the tokens; see [scorer.Options].
	Replacement string `json:"replacement,omitempty"`
	// Whole is the probability as the text stands, and Trials have it in changed texts: without
	// each named word, the strongest first, and what belongs to it; without the rival; and without
	// what is against the word.
	Whole  float64 `json:"whole"`
	Trials []Trial `json:"trials,omitempty"`
	// Control is without other words; nil with a Reason.
	Control *Control `json:"control,omitempty"`
	// Tells reports whether the probability falls to under half without what is named, and to
	// under that without another word.
	Tells bool `json:"tells"`
	// Faithfulness is 1 − p/c of the lowest probability p without what is named and the mean c of
	// the control: the area between the curve of the method and that of random words over the area
	// under the latter, of curves with one step. It is followed by its value at either end of the
	// interval of c; nil if nothing is left without other words.
	Faithfulness []float64 `json:"faithfulness,omitempty"`
	// Read is how many tokens were read. Beginnings that texts share are read once.
	Read int `json:"read,omitempty"`
	// Reason is why there are no numbers, "" if there are.
	Reason string `json:"reason,omitempty"`
}

// Kind is what is changed in a text.
type Kind string

// The kinds of changes.
const (
	// Without takes a named word away, at its strongest place.
	Without Kind = "without"
	// Everywhere takes it away at all its places, if there are several: a prediction may need a
	// word, wherever it stands.
	Everywhere Kind = "everywhere"
	// Exchanged puts another name of the text in place of a named one, if the word is no name
	// itself: a sentence without its subject is unlike any text.
	Exchanged Kind = "exchanged"
	// Rival takes away the word of the text that is the most probable other answer, if that is at
	// least a fifth as probable.
	Rival Kind = "rival"
	// Against takes away the word whose value is most against the answer, if its size is at least
	// half of that of the strongest. It is against the answer only if this is then more probable.
	Against Kind = "against"
)

// Trial is the probability of a word in a changed text.
type Trial struct {
	Kind Kind `json:"kind"`
	// Sources are the tokens that are taken away, in rising order, and Text is their word. Places
	// is how many there are of it, 0 for one. With is the name that stands in its place.
	Sources []int   `json:"sources"`
	Text    string  `json:"text"`
	Places  int     `json:"places,omitempty"`
	With    string  `json:"with,omitempty"`
	P       float64 `json:"p"`
}

// Control is the probability of a word without other words, each alone: words that are no sources
// of a trial, have a letter or a digit and were written neither as control tokens nor by a chat
// template. They are drawn at random, first of those that have as many tokens as the strongest word
// that is named, then of those that differ less.
type Control struct {
	// Draws is the number of words, at most 10. Mean is the mean without each of them, Interval two
	// standard errors of it on either side, and Range the lowest and the highest.
	Draws    int        `json:"draws"`
	Mean     float64    `json:"mean"`
	Interval [2]float64 `json:"interval"`
	Range    [2]float64 `json:"range"`
}

// Shown returns the trials that a picture shows beside the probability as the text stands, one or
// two, or none with a Reason. Beside one it shows the control, too.
//
//   - A name that is exchanged is shown alone.
//   - A word at several places is shown without one and without all of them, if the probability
//     falls by less than a quarter without the one.
//   - Of two words each is shown: those named or, if one is named, that one and the rival.
//
// Where the test does not tell, the one of these is shown that took most.
func (v *Verdict) Shown() []Trial {
	if len(v.Trials) == 0 {
		return nil
	}
	shown := v.candidates()
	if !v.Tells {
		named := slices.DeleteFunc(slices.Clone(shown), func(t Trial) bool {
			return t.Kind == Rival
		})
		return []Trial{slices.MinFunc(named, func(a, b Trial) int { return cmp.Compare(a.P, b.P) })}
	}
	return shown
}

// candidates are the trials of [Verdict.Shown] where the test tells.
func (v *Verdict) candidates() []Trial {
	first, others := v.Trials[0], v.Trials[1:]
	if first.Kind == Exchanged {
		return v.Trials[:1]
	}
	for _, t := range others {
		if t.Kind == Everywhere && t.Text == first.Text && first.P > v.Whole*3/4 {
			return []Trial{first, t}
		}
	}
	for _, t := range others {
		if t.Kind == Without || t.Kind == Rival {
			return []Trial{first, t}
		}
	}
	return v.Trials[:1]
}

// judge sets what follows from the numbers, given those without each other word.
func (v *Verdict) judge(others []float64) {
	n := float64(len(others))
	c := &Control{Draws: len(others), Mean: rowmath.Total(others) / n}
	c.Range = [2]float64{slices.Min(others), slices.Max(others)}
	squares := 0.0
	for _, x := range others {
		squares += (x - c.Mean) * (x - c.Mean)
	}
	spread := 2 * math.Sqrt(squares/max(n-1, 1)/n)
	c.Interval = [2]float64{c.Mean - spread, c.Mean + spread}
	v.Control, v.Tells = c, false
	lowest := math.Inf(1)
	for _, t := range v.candidates() {
		if t.Kind != Rival {
			lowest = min(lowest, t.P)
		}
	}
	v.Tells = lowest < v.Whole/2 && lowest < c.Mean
	if c.Interval[0] > 0 {
		for _, x := range []float64{c.Mean, c.Interval[0], c.Interval[1]} {
			v.Faithfulness = append(v.Faithfulness, 1-lowest/x)
		}
	}
}

// run is the study of one text.
type run struct {
	*attribution.StudyRun
	e *attribution.Explanation
	// silent, sinks and rowSinks are those of the rows of the first method, found once for all
	// tokens that are tested.
	silent   []string
	sinks    []attribution.Sink
	rowSinks []int
	// joins are those of [attribution.Explanation.ContinuesWord].
	joins []bool
}

// begin returns an error if a token is to be proven that is not asked for. The text may end
// earlier, which the end finds.
func begin(s *attribution.StudyRun) (attribution.StudySteps, error) {
	r := &run{StudyRun: s, e: s.Explanation}
	_, err := r.Token("prove")
	return attribution.StudySteps{End: r.prove}, err
}

// auto reports whether nobody asked for a test.
func (r *run) auto() bool { return r.Setting(Option) == Auto }

// prove adds the verdicts that are asked for, each to the first token of its word.
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
	r.joins = e.ContinuesWord()
	var words [][2]int
	switch {
	case r.Setting(Option) == All:
		for t := 0; t < len(e.Steps); t = words[len(words)-1][1] {
			words = append(words, r.rowsOf(t))
		}
	case t < 0:
		return nil
	default:
		words = [][2]int{r.rowsOf(t)}
	}
	if read := leastTexts * len(words) * len(e.TokenIDs()); read > mostRead && !r.auto() {
		advice := "a shorter prompt has one"
		if len(words) > 1 {
			advice = "prove " + attribution.OpeningToken + " tests one word alone"
		}
		r.Warn(fmt.Sprintf("There is no verdict: %d tokens would be read again to test what is "+
			"named, and at most %d are; %s.", read, mostRead, advice))
		return nil
	}
	for i, rows := range words {
		r.Progress("testing what the picture names", "word", i, len(words))
		v, err := r.verdict(ctx, rows, mostRead/len(words))
		if err != nil {
			return err
		}
		if r.auto() && v.Reason != "" {
			continue // nobody asked
		}
		e.Steps[rows[0]].Studies.Set(Name, v)
	}
	return nil
}

// rowsOf returns the rows [begin,end) of the word of row t. Predictions of a model that reads, and
// tokens that are compared with another one, are tested alone.
func (r *run) rowsOf(t int) [2]int {
	m := len(r.e.Prompt.Texts)
	if r.e.Model.Reads() || r.e.Methods[r.e.Order[0]].Contrast != "" {
		return [2]int{t, t + 1}
	}
	begin, end := t, t+1
	for begin > 0 && r.joins[m+begin] {
		begin--
	}
	for end < len(r.e.Steps) && r.joins[m+end] {
		end++
	}
	return [2]int{begin, end}
}
