// Package heads is the study of what attention heads do: which are induction heads, heads of the
// previous token, of duplicate tokens and of the first token, which are name movers, what each
// wrote into a logit, and what the loss is without each.
package heads

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

func init() {
	attribution.RegisterStudy(&attribution.Study{
		Name: Name,
		Options: []attribution.StudyOption{{
			Name: "head kinds", Key: Option,
			Help: "also score every head as induction, previous-token, duplicate-token, " +
				"first-token and name-mover head: `random|text|ablate`, on repeated random " +
				"tokens, on the text too, at one more pass, and by what the loss is without each " +
				"head, at a pass for each",
			Wrong: func(s string) string {
				known := []string{Random, Text, Ablate}
				if s == "" || slices.Contains(known, s) {
					return ""
				}
				return "want " + message.List(known)
			},
			Ungrouped: "heads read tokens as the model has them",
		}},
		Whole: func() any { return &Kinds{} },
		Token: func() any { return &Writes{} },
		Needs: func(attribution.Studies) attribution.StudyNeeds {
			return attribution.StudyNeeds{ByHead: true, Contrast: true, Foils: true}
		},
		Cost: func(info trace.Info, set attribution.Studies) string {
			if set[Option] != Ablate {
				return ""
			}
			return fmt.Sprintf("each of %d heads is taken away in turn, a pass each: for 270 "+
				"heads of 135 million parameters, two cores take a minute or two",
				info.Layers*info.Heads)
		},
		Begin: begin,
	})
}

// Name is the name of the study, and Option that of its option.
const (
	Name   = "heads"
	Option = "head-kinds"
)

// The values of the option, each with what those before it have: scores on random tokens and name
// movers; scores on the text, at one more pass over it; and the loss without each head, at L·H
// passes over the random tokens.
const (
	Random = "random"
	Text   = "text"
	Ablate = "ablate"
)

// mostRead is how many tokens the passes without each head may read.
const mostRead = 1 << 16

// Of returns what every head does, nil if the study was not asked for.
func Of(e *attribution.Explanation) *Kinds { return attribution.Finding[Kinds](e.Studies, Name) }

// Wrote returns what each head wrote into the logit of a generated token, nil if the study was not
// asked for and for a model that cannot say.
func Wrote(g attribution.GeneratedToken) *Writes {
	return attribution.Finding[Writes](g.Studies, Name)
}

// The kinds of heads, by what a head reads at token t: the token after an earlier occurrence of t
// (Elhage et al. 2021), t-1, an earlier occurrence of t (Wang et al. 2022), token 0, where heads
// rest that find nothing (Xiao et al. 2023), and, of name movers, the very token that it writes
// into the prediction (Wang et al. 2022).
const (
	Induction      = "induction"
	PreviousToken  = "previous token"
	DuplicateToken = "duplicate token"
	FirstToken     = "first token"
	NameMover      = "name mover"
)

// patternKinds are the kinds that attention tells, and patternFrom the scores from which a head is
// of one. Uniform attention has 0.03. Heads that prefer near tokens give up to 0.25 to t-1 and 0.24
// to t-2 (the embedded model and SmolLM2-135M), and, but for one, those of SmolLM2 give at most
// 0.11 to the token after that of induction. A head rests on the first token if that has more than
// all others together.
var (
	patternKinds = [4]string{
		Induction, PreviousToken, DuplicateToken, FirstToken,
	}
	patternFrom = [4]float64{.3, .3, .3, .5}
)

const (
	// A name mover copies this part of all that is copied, or so many times its share of L·H heads.
	copiesFrom, copiesChance = .05, 2
	// K is repeatedTokens. With fewer than fewestTokens uniform attention would have above 0.08.
	repeatedTokens, fewestTokens, kindSeed = 25, 8, 1
)

// Kinds are the scores of all heads by what they do, and the kinds that follow from them:
//
//	score_k(l,h) = 1/|T_k| Σ_{t ∈ T_k} Σ_{s ∈ S_k(t)} A_lh[t,s]
//
// S_k(t) are the sources that a head of kind k reads at t, and T_k the tokens t that have any: the
// scores of Olsson et al. 2022 (prefix matching, previous token) as the head detector of
// TransformerLens computes them. A source that two kinds name counts for neither, and token 0 for
// the first token alone, which is the only source of a control token.
//
// Edits at no positions change what heads do on the random text, too; those at positions of the
// prompt do not.
//
// The random text has K different tokens, and the same again, between the control tokens that the
// model puts around a text. There T_k are the last K - 1 tokens for each kind, where all patterns
// have a source, so that the scores of a head are parts of one attention.
type Kinds struct {
	// IDs are the random text, of K tokens twice, and Chance the score of uniform attention there.
	IDs      []int   `json:"ids"`
	Repeated int     `json:"repeated"` // K
	Chance   float64 `json:"chance"`
	// Kinds are all kinds, in a fixed order.
	Kinds []Kind `json:"kinds"`
	// Loss is, if it is asked for, the mean of -ln p, in nats, over the K - 1 tokens t + 1 of the
	// second half, and Without, [L,H], how much larger it is if the context of a head, and so its
	// output, is at each token its mean over the random text.
	Loss    float64   `json:"loss,omitempty"`
	Without []float64 `json:"without,omitempty"`
}

// Kind is one kind of head.
type Kind struct {
	Name string `json:"name"`
	// Threshold is the score from which a head is of the kind: Random, or Text of name movers.
	Threshold float64 `json:"threshold"`
	// Random is the score on the random text, [L,H]; nil of name movers.
	Random []float64 `json:"random,omitempty"`
	// Text is the score on the text, [L,H], nil if it is not known, |T_k| = Tokens, and Chance what
	// uniform attention would have. Of name movers it is, over generated words y that occur before,
	//
	//	c(l,h) = max(0, Σ_y Σ_{s: x_s = y} Δ_lh[s]) / Σ_l'h' (the same),
	//
	// with Δ_lh[s] what head h wrote into the logit of y from source s, as in the scorer direct.
	Text   []float64 `json:"text,omitempty"`
	Tokens int       `json:"tokens,omitempty"`
	Chance float64   `json:"chance,omitempty"`
	// Heads are those of the kind, as l·H+h, by falling score; those of the first token have no
	// other kind.
	Heads []int `json:"heads,omitempty"`
}

// Fit reports whether the scores are those of n heads, which may not be so in a damaged file.
func (k *Kinds) Fit(n int) bool {
	fits := func(scores []float64) bool { return scores == nil || len(scores) == n }
	return len(k.Kinds) == 5 && fits(k.Without) &&
		!slices.ContainsFunc(k.Kinds, func(kind Kind) bool {
			return !fits(kind.Random) || !fits(kind.Text) || slices.ContainsFunc(kind.Heads,
				func(i int) bool { return i < 0 || i >= max(len(kind.Random), len(kind.Text)) })
		})
}

// Needed returns the heads without which the loss rises most, as l·H+h, the most first: by the mean
// + standard deviation over all heads (of a sample, with n-1) or more, and at least a hundredth of
// a nat. It returns nil if that is not known.
func (k *Kinds) Needed() (heads []int) {
	least := max(.01, rowmath.Outstanding(k.Without))
	for i, x := range k.Without {
		if x >= least {
			heads = append(heads, i)
		}
	}
	slices.SortStableFunc(heads, func(a, b int) int {
		return cmp.Compare(k.Without[b], k.Without[a])
	})
	return heads
}

// OnText returns k with the scores on the text of e, given the attention over its first T tokens,
// [L,H,T,T].
func (k *Kinds) OnText(e *attribution.Explanation, attention trace.Tensor) *Kinds {
	scored := *k
	scored.Kinds = slices.Clone(k.Kinds)
	sources := patternsOf(e.TokenIDs()[:attention.Shape[2]], e.Prompt.Special)
	for i := range patternKinds {
		kind := &scored.Kinds[i]
		kind.Text, kind.Chance, kind.Tokens = scoresOf(attention, sources[i], e.Model)
	}
	return &scored
}

// patternsOf returns the sources S_k(t) of each of [patternKinds], [4][T]. The first tokens may be
// control tokens.
func patternsOf(ids []int, control []bool) (sources [4][][]int) {
	for k := range sources {
		sources[k] = make([][]int, len(ids))
	}
	for t := 1; t < len(ids); t++ {
		sources[3][t] = []int{0}
		if t < len(control) && control[t] {
			continue
		}
		named := map[int]int{0: 2} // how many kinds name a source
		add := func(k, s int) {
			sources[k][t] = append(sources[k][t], s)
			named[s]++
		}
		add(1, t-1)
		for s := range t {
			if ids[s] == ids[t] {
				add(2, s)
				if s+1 < t {
					add(0, s+1)
				}
			}
		}
		for k := range sources[:3] {
			sources[k][t] = slices.DeleteFunc(sources[k][t],
				func(s int) bool { return named[s] > 1 })
		}
	}
	return sources
}

// scoresOf returns the mean attention of each head on the sources of the tokens that have any,
// [L,H], what uniform attention would have, and the number of these tokens; nil if there are none.
func scoresOf(attention trace.Tensor, sources [][]int, of trace.Info) (
	scores []float64, chance float64, tokens int,
) {
	T := attention.Shape[2]
	for _, read := range sources {
		tokens += min(len(read), 1)
	}
	if tokens == 0 {
		return nil, 0, 0
	}
	scores = make([]float64, attention.Shape[0]*attention.Shape[1])
	for t, read := range sources {
		seen := t + 1
		if of.Bidirectional || of.EncoderLayers > 0 {
			seen = T
		}
		chance += float64(len(read)) / float64(seen*tokens)
		for i := range scores {
			for _, s := range read {
				scores[i] += float64(attention.Data[(i*T+t)*T+s]) / float64(tokens)
			}
		}
	}
	return scores, chance, tokens
}

// run is the study of one text.
type run struct {
	*attribution.StudyRun
	// copied is what each head wrote into the logits of tokens that the text has before, [L,H], and
	// copies their number; see [Kind.Text].
	copied []float64
	copies int
}

// begin begins the study, which every model may be asked for.
func begin(s *attribution.StudyRun) (attribution.StudySteps, error) {
	of := s.Explanation.Model
	r := &run{StudyRun: s, copied: make([]float64, of.Layers*of.Heads)}
	return attribution.StudySteps{Step: r.addByHead, End: r.scoreHeads}, nil
}

// scoreHeads scores the heads. What the model cannot do is a warning.
func (r *run) scoreHeads(ctx context.Context) error {
	m, e := r.Model, r.Explanation
	tracer, records := m.(trace.Tracer)
	ids, second, K := repeatedText(m)
	if !records || K < fewestTokens {
		r.Warn(fmt.Sprintf("Heads have no kinds: that needs a model that records attention, and "+
			"reads %d different tokens twice; %s reads %d.", fewestTokens, e.Model.Name, K))
		return nil
	}
	taps := []trace.Tap{trace.Attention}
	var tensors []trace.Tensor
	var err error
	if edits := r.editsEverywhere(); edits != nil {
		tensors, err = m.(trace.EditTracer).Run(ctx, ids, taps, edits)
	} else {
		tensors, err = tracer.Trace(ctx, ids, taps)
	}
	if err != nil {
		return err
	}
	a := tensors[0]
	kinds := &Kinds{IDs: ids, Repeated: K}
	for k, sources := range patternsOf(ids, nil) {
		kind := Kind{Name: patternKinds[k], Threshold: patternFrom[k]}
		clear(sources[:second+1])
		clear(sources[second+K:]) // control tokens
		kind.Random, kinds.Chance, _ = scoresOf(a, sources, e.Model)
		kinds.Kinds = append(kinds.Kinds, kind)
	}
	kinds.Kinds = append(kinds.Kinds, r.nameMovers())
	kinds.choose()
	e.Studies.Set(Name, kinds)
	if r.Setting(Option) == Random {
		return nil
	}
	if tracer, err = e.Traced(tracer); err == nil {
		tensors, err = tracer.Trace(ctx, e.TokenIDs(), taps)
	}
	if err != nil {
		return err
	}
	kinds = kinds.OnText(e, tensors[0])
	e.Studies.Set(Name, kinds)
	if r.Setting(Option) == Text {
		return nil
	}
	return r.ablateHeads(ctx, kinds, second)
}

// editsEverywhere are the edits at no positions of the prompt, under which the random text is run.
func (r *run) editsEverywhere() []trace.Edit {
	return trace.MoveEdits(r.Explanation.Edits, func(int) int { return -1 })
}

// repeatedText returns the random text, the place of its second half, and K: fewer than
// [repeatedTokens] if the context or the vocabulary is small. Its tokens are those whose text alone
// is encoded as they are.
func repeatedText(m trace.Model) (ids []int, second, K int) {
	var before, half, after []int
	tokens, _ := m.Encode("a", trace.SpecialsAuto) // after an error it has none around a text
	for i, t := range tokens {
		switch {
		case t.Special && len(before) == i:
			before = append(before, t.ID)
		case t.Special:
			after = append(after, t.ID)
		}
	}
	info, most := m.Info(), repeatedTokens
	if info.Context > 0 {
		most = min(most, (info.Context-len(before)-len(after))/2)
	}
	texter, _ := m.(trace.TokenTexter)
	for _, id := range rand.New(rand.NewPCG(kindSeed, 0)).Perm(info.Vocab) {
		if texter == nil || len(half) >= most {
			break
		}
		alone, _ := m.Encode(texter.TokenText(id), trace.SpecialsFollow)
		if len(alone) == 1 && alone[0].ID == id && !alone[0].Special {
			half = append(half, id)
		}
	}
	return slices.Concat(before, half, half, after), len(before) + len(half), len(half)
}

// choose sets the heads of each kind.
func (k *Kinds) choose() {
	hasKind := map[int]bool{}
	for _, i := range []int{0, 1, 2, 4, 3} { // the first token last
		kind := &k.Kinds[i]
		scores := kind.Random
		if kind.Name == NameMover {
			scores = kind.Text
		}
		for head, x := range scores {
			if x >= kind.Threshold && !(kind.Name == FirstToken && hasKind[head]) {
				kind.Heads, hasKind[head] = append(kind.Heads, head), true
			}
		}
		slices.SortStableFunc(kind.Heads, func(a, b int) int {
			return cmp.Compare(scores[b], scores[a])
		})
	}
}

// Writes are the parts of a logit that each attention head wrote, direct logit attribution by
// head (Elhage et al. 2021, Wang et al. 2022), with Δ as in the scorer direct:
//
//	w(l,h) = Σ_s Δ_lh[s]
//
// A head that a later one reads has no part here for that.
type Writes struct {
	// Heads is w, [L,H], in logits.
	Heads []float64 `json:"heads"`
	// Value is the logit, minus that of Contrast or the mean of the Foils next most probable
	// tokens. The embedding, feed-forward layers and biases wrote what Heads do not add up to.
	Value    float64 `json:"value"`
	Contrast string  `json:"contrast,omitempty"`
	Foils    int     `json:"foils,omitempty"`
}

// addByHead adds to a generated token what each head wrote into its logit, and, if it is a word, to
// the scores of name movers what they wrote from where the text has the same token.
func (r *run) addByHead(step trace.Step, g *attribution.GeneratedToken) error {
	terms := step.Terms
	if terms == nil || len(terms.ByHead) == 0 || len(terms.ByHead) != len(r.copied)*terms.S {
		return nil
	}
	wrote := &Writes{
		Heads: make([]float64, len(r.copied)), Value: terms.Value, Contrast: r.Options.Contrast,
		Foils: r.Foils,
	}
	for i, x := range terms.ByHead {
		wrote.Heads[i/terms.S] += x
	}
	g.Studies.Set(Name, wrote)
	text := r.Explanation.TokenIDs()
	if g.Special || !slices.Contains(text, g.ID) ||
		!slices.ContainsFunc([]rune(g.Text), units.InWord) {
		return nil
	}
	r.copies++
	for i, x := range terms.ByHead {
		if s := i % terms.S; s < len(text) && text[s] == g.ID {
			r.copied[i/terms.S] += x
		}
	}
	return nil
}

// nameMovers returns the scores of heads as name movers.
func (r *run) nameMovers() Kind {
	chance := 1 / float64(len(r.copied))
	kind := Kind{
		Name: NameMover, Threshold: min(max(copiesFrom, copiesChance*chance), .5),
	}
	whole := 0.0
	for _, x := range r.copied {
		whole += max(0, x)
	}
	if whole == 0 {
		return kind
	}
	kind.Tokens, kind.Chance = r.copies, chance
	for _, x := range r.copied {
		kind.Text = append(kind.Text, max(0, x)/whole)
	}
	return kind
}

// ablateHeads takes away one head after another; see [Kinds.Without].
func (r *run) ablateHeads(ctx context.Context, k *Kinds, second int) error {
	of := r.Explanation.Model
	H := of.Heads
	editable, ok := r.Model.(trace.Editable)
	n := of.Layers * H
	if !ok || of.Head != trace.NextToken || of.EncoderLayers > 0 ||
		n*len(k.IDs) > mostRead {
		r.Warn(fmt.Sprintf("No head is taken away: that needs a model of one stack that predicts "+
			"the next token and can be edited, and %d tokens to be read, of at most %d.",
			n*len(k.IDs), mostRead))
		return nil
	}
	var contexts trace.Tensor // [L,H,T,E]
	run := func(edits ...trace.Edit) (float64, error) {
		x, err := editable.Run(ctx, k.IDs, []trace.Tap{trace.Logits, trace.Context},
			slices.Concat(r.editsEverywhere(), edits))
		if err != nil {
			return 0, err
		}
		contexts = x[1]
		return repeatedLoss(x[0], k.IDs, second, k.Repeated), nil
	}
	loss, err := run()
	whole := contexts
	for i := 0; err == nil && i < n; i++ {
		r.Progress("taking heads away", "pass", i, n)
		T, E, without := whole.Shape[2], whole.Shape[3], 0.0
		without, err = run(trace.Edit{
			Tap: trace.Context, Layers: []int{i / H}, Heads: []int{i % H},
			Change: trace.SetMean, Shape: []int{T, 1, 1, 1, E}, Value: whole.Data[i*T*E:][:T*E],
		})
		k.Loss, k.Without = loss, append(k.Without, without-loss)
	}
	return err
}

// repeatedLoss is [Kinds.Loss], given the logits of the text, [T,V].
func repeatedLoss(logits trace.Tensor, ids []int, second, K int) (loss float64) {
	V := logits.Shape[len(logits.Shape)-1]
	for t := second; t < second+K-1; t++ {
		_, surprisal, _ := rowmath.Scores(logits.Data[t*V:][:V], ids[t+1])
		loss += surprisal / float64(K-1)
	}
	return loss
}
