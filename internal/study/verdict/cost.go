package verdict

import (
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
)

const (
	// mostRead is how many tokens all verdicts of an explanation may read: a model of 135 million
	// parameters reads them in two minutes on two cores. One reads leastTexts at least, the text as
	// it stands, without a word that is named and without another one.
	mostRead   = 1 << 16
	leastTexts = 3
	// second is how many multiplications two cores do in a second: they read 280 tokens of a model
	// of 135 million parameters. The pure-Go backend takes slowness times as long for them.
	second    = 1 << 35
	slowness  = 3
	scoreCost = 128
	// leastSeconds is what a test may take in any case.
	leastSeconds = .5
	// batchTexts and batchTokens are how many texts, and how many tokens of them, a model reads at
	// once, as in package transformer. Texts of different batches share nothing.
	batchTexts  = 32
	batchTokens = 4096
)

// Seconds returns about how long two cores take to read some tokens of texts of T tokens. A token
// takes 12·L·D² + 2·L·D·T multiplications (Kaplan et al. 2020, §2.1, without the embedding and the
// head). Beside them, a score of each of H heads counts as 128: its softmax reads and writes
// memory, which is most of the time of a small model on a long text.
func Seconds(m trace.Info, tokens, T int) float64 {
	L, D, H := float64(m.Layers), float64(m.Width), float64(m.Heads)
	cost := float64(tokens) * L * (12*D*D + (2*D+scoreCost*H)*float64(T))
	if m.Backend == "go" {
		cost *= slowness
	}
	return cost / second
}

// affordable returns the trials and the other words of a test that are read, the most important
// first, and how many tokens that takes. They are the first trial and one other word in any case,
// if nobody asked as far as they take no longer than the explanation or [leastSeconds], then the
// other trials and the other words as far as they fit. If not even the first two do, there are
// none.
//
// The time is a count, so that every run gives the same picture: the explanation reads its text
// once to generate it and once for each method.
func (r *run) affordable(
	removal *scorer.Removal, trials, others []test, pieces, mostTokens int,
) (chosen, control []test, read int) {
	T := len(r.e.TokenIDs())
	budget := max(leastSeconds, Seconds(r.e.Model, (1+len(r.e.Order))*T, T))
	fits := func(tokens int) bool {
		return tokens <= mostTokens && (!r.auto() || Seconds(r.e.Model, tokens, T) <= budget)
	}
	c := r.newCost(removal, pieces)
	c.add(trials[0])
	add := func(t test, to *[]test) {
		with := c
		if with.add(t); fits(with.tokens()) {
			c, *to = with, append(*to, t)
		}
	}
	first := 0
	for ; first < len(others) && len(control) == 0; first++ {
		add(others[first], &control)
	}
	if len(control) == 0 {
		return nil, nil, c.tokens()
	}
	chosen = trials[:1:1]
	for _, t := range trials[1:] {
		add(t, &chosen)
	}
	for _, t := range others[first:] {
		add(t, &control)
	}
	return chosen, control, c.tokens()
}

// cost counts the tokens that texts of a test have.
type cost struct {
	whole  []int // the text as it stands
	again  bool  // a token changes those before it, so that nothing is shared
	pieces int   // of the word that is tested
	texts  int
	own    int // tokens that the texts do not share
}

// newCost returns the cost of the text as it stands.
func (r *run) newCost(removal *scorer.Removal, pieces int) cost {
	info, whole := r.e.Model, removal.Without().IDs
	return cost{whole, info.Reads() || info.EncoderLayers > 0, pieces, 1, len(whole)}
}

// add adds a text. In a decoder the tokens before the first one that is changed are read once in a
// batch.
func (c *cost) add(t test) {
	ids, shared := t.query().IDs, 0
	for !c.again && shared < min(len(ids), len(c.whole)) && ids[shared] == c.whole[shared] {
		shared++
	}
	c.texts, c.own = c.texts+1, c.own+len(ids)-shared
}

// tokens returns how many tokens are read. A model is asked about each piece of the word, and about
// so many at once.
func (c *cost) tokens() int {
	inBatch := max(1, min(batchTexts, batchTokens/len(c.whole)))
	batches := (c.texts*c.pieces + inBatch - 1) / inBatch
	return c.own + (batches-1)*len(c.whole)
}
