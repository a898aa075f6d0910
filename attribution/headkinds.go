package attribution

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// The values of [Options.HeadKinds], each of which includes those before it.
const (
	// KindsRandom scores heads on repeated random tokens, and by what they copy into the text that
	// is generated.
	KindsRandom = "random"
	// KindsText also scores them on the text, at one more pass over it.
	KindsText = "text"
	// KindsAblate also takes away each head, at L·H passes over the random tokens.
	KindsAblate = "ablate"
)

// The kinds of heads, by what a head reads at token t.
const (
	// InductionHead reads the token after an earlier occurrence of t (Elhage et al. 2021).
	InductionHead = "induction"
	// PreviousTokenHead reads t-1.
	PreviousTokenHead = "previous token"
	// DuplicateTokenHead reads an earlier occurrence of t (Wang et al. 2022).
	DuplicateTokenHead = "duplicate token"
	// FirstTokenHead reads token 0, where heads rest that find nothing (Xiao et al. 2023).
	FirstTokenHead = "first token"
	// NameMoverHead writes into the prediction the very token that it reads (Wang et al. 2022).
	NameMoverHead = "name mover"
)

// patternKinds are the kinds that attention tells.
var patternKinds = []string{InductionHead, PreviousTokenHead, DuplicateTokenHead, FirstTokenHead}

const (
	// kindFrom is the score from which a head is of a kind of [patternKinds]. Uniform attention has
	// 0.03. Heads that prefer near tokens give up to 0.25 to t-1 and 0.24 to t-2 (the embedded
	// model and SmolLM2-135M), and, but for one, heads of SmolLM2 give at most 0.11 to the token
	// after the one of induction.
	kindFrom = .3
	// copiesFrom is the share of all that is copied from which a head is a name mover, and
	// copiesChance how many times the share is that each of L·H heads would have.
	copiesFrom, copiesChance = .05, 2
	// repeatedTokens is K, and fewestTokens below which K says nothing: uniform attention would
	// have more than 0.08.
	repeatedTokens, fewestTokens = 25, 8
	kindSeed                     = 1
)

// HeadKinds are the scores of all heads by what they do, and the kinds that follow from them:
//
//	score_k(l,h) = 1/|T_k| Σ_{t ∈ T_k} Σ_{s ∈ S_k(t)} A_lh[t,s]
//
// S_k(t) are the sources that a head of kind k reads at t, and T_k the tokens t that have any: the
// previous-token, duplicate-token and induction score (prefix matching) of Olsson et al. 2022, as
// the head detector of TransformerLens computes them. A source that two kinds name counts for
// neither, and token 0 for the first token alone. A control token has no other source than that.
//
// The text is one of 2·K tokens: K different random tokens, and the same again, after the control
// tokens that the model begins with. There T_k are the last K - 1 tokens for each kind, where all
// patterns have a source, so that the scores of a head are parts of one attention: a head that
// rests on the first token until it finds something counts for what it finds.
type HeadKinds struct {
	Layers   int `json:"layers"`          // L
	Heads    int `json:"heads_per_layer"` // H
	Repeated int `json:"repeated"`        // K
	// IDs are the random tokens, with the control tokens of the model around them.
	IDs []int `json:"ids"`
	// Chance is the score of uniform attention on the random tokens.
	Chance float64 `json:"chance"`
	// Kinds are all kinds, in a fixed order.
	Kinds []HeadKind `json:"kinds"`
	// Ablation is nil unless it is asked for.
	Ablation *HeadAblation `json:"ablation,omitempty"`
}

// HeadKind is one kind of head.
type HeadKind struct {
	Name string `json:"name"`
	// Threshold is the score from which a head is of the kind: Random, or Text of name movers.
	Threshold float64 `json:"threshold"`
	// Random is the score on random tokens, [L,H]; nil of name movers.
	Random []float64 `json:"random,omitempty"`
	// Text is the score on the text, [L,H], nil if it is not known. Tokens is how many tokens of
	// the text it is the mean of, and Chance what uniform attention would have. Of name movers it
	// is, over the generated words y that occur before,
	//
	//	c(l,h) = max(0, Σ_y Σ_{s: x_s = y} Δ_lh[s]) / Σ_l'h' (the same),
	//
	// with Δ_lh[s] what head h wrote into the logit of y from source s, as in the scorer direct.
	Text   []float64 `json:"text,omitempty"`
	Tokens int       `json:"tokens,omitempty"`
	Chance float64   `json:"chance,omitempty"`
	// Heads are those of the kind, as l·H+h, by falling score. The first token is the kind of heads
	// alone that have no other of [trace.Attention].
	Heads []int `json:"heads,omitempty"`
}

// HeadAblation is what the model loses on the second K random tokens without each head.
type HeadAblation struct {
	// Loss is the mean of -ln p, in nats, over the tokens of the second half but its first, which
	// nothing tells.
	Loss float64 `json:"loss"`
	// Without is how much larger it is if the context of one head, and so its output, is at every
	// token its mean over the text, [L,H].
	Without []float64 `json:"without"`
}

// kindsText is how the value of [Options.HeadKinds] is read: what is wrong with it.
func kindsText(text string) (wrong string) {
	known := []string{KindsRandom, KindsText, KindsAblate}
	if text == "" || slices.Contains(known, text) {
		return ""
	}
	return message.KnownAre(text, known)
}

// Of returns the kinds of a head, in the order of Kinds. k may be nil.
func (k *HeadKinds) Of(layer, head int) (kinds []string) {
	if k == nil {
		return nil
	}
	for _, kind := range k.Kinds {
		if slices.Contains(kind.Heads, layer*k.Heads+head) {
			kinds = append(kinds, kind.Name)
		}
	}
	return kinds
}

// Check returns an error if the scores do not fit a model, as in a file that somebody edited.
func (k *HeadKinds) Check(layers, heads int) error {
	n := layers * heads
	fits := k.Layers == layers && k.Heads == heads
	for _, kind := range k.Kinds {
		for _, scores := range [][]float64{kind.Random, kind.Text} {
			fits = fits && (scores == nil || len(scores) == n)
		}
		fits = fits && !slices.ContainsFunc(kind.Heads, func(i int) bool { return i < 0 || i >= n })
	}
	if !fits || k.Ablation != nil && len(k.Ablation.Without) != n {
		return pkg.Errorf("the kinds of heads do not fit a model of %d layers and %d heads", layers,
			heads)
	}
	return nil
}

// OnText returns k with the scores on the text of e, given the attention over its first T tokens,
// [L,H,T,T], which must be that of a model with these heads.
func (k *HeadKinds) OnText(e *Explanation, attention trace.Tensor) *HeadKinds {
	scored := *k
	scored.Kinds = slices.Clone(k.Kinds)
	sources := patternsOf(e.TokenIDs()[:attention.Shape[2]], e.controlTokens())
	for i := range patternKinds {
		kind := &scored.Kinds[i]
		kind.Text, kind.Chance, kind.Tokens = scoresOf(attention, sources[i],
			e.Model.Bidirectional)
	}
	return &scored
}

// patternsOf returns the sources S_k(t) of each of [patternKinds], [4][T].
func patternsOf(ids []int, control []bool) (sources [4][][]int) {
	for k := range sources {
		sources[k] = make([][]int, len(ids))
	}
	for t := 1; t < len(ids); t++ {
		sources[3][t] = []int{0}
		if control[t] {
			continue
		}
		named := map[int]int{0: 2} // how many kinds name a source
		add := func(k, s int) {
			sources[k][t] = append(sources[k][t], s)
			named[s]++
		}
		for s := range t {
			if ids[s] == ids[t] {
				add(2, s)
				if s+1 < t {
					add(0, s+1)
				}
			}
		}
		add(1, t-1)
		for k := range sources[:3] {
			sources[k][t] = slices.DeleteFunc(sources[k][t], func(s int) bool {
				return named[s] > 1
			})
		}
	}
	return sources
}

// scoresOf returns the mean attention of each head on the sources of the tokens that have any,
// [L,H], what uniform attention would have, and the number of these tokens; scores is nil if none
// has.
func scoresOf(attention trace.Tensor, sources [][]int, bidirectional bool) (
	scores []float64, chance float64, tokens int,
) {
	L, H, T := attention.Shape[0], attention.Shape[1], attention.Shape[2]
	scores = make([]float64, L*H)
	for t, read := range sources {
		if len(read) == 0 {
			continue
		}
		tokens++
		seen := t + 1
		if bidirectional {
			seen = T
		}
		chance += float64(len(read)) / float64(seen)
		for i := range scores {
			for _, s := range read {
				scores[i] += float64(attention.Data[(i*T+t)*T+s])
			}
		}
	}
	if tokens == 0 {
		return nil, 0, 0
	}
	for i := range scores {
		scores[i] /= float64(tokens)
	}
	return scores, chance / float64(tokens), tokens
}

// readKinds scores the heads, if the options ask for it. What the model cannot do is a warning.
func (r *run) readKinds(ctx context.Context, m trace.Model) error {
	if r.opts.HeadKinds == "" {
		return nil
	}
	without := func(reason string) {
		r.e.Warnings = append(r.e.Warnings, "Heads have no kinds: "+reason+".")
	}
	tracer, records := m.(trace.Tracer)
	vocabulary, knows := m.(trace.TextVocabulary)
	if !records || !knows {
		without(r.e.Model.Name + " records no attention over other texts")
		return nil
	}
	ids, second, K := r.repeated(m, vocabulary)
	if K < fewestTokens {
		without(fmt.Sprintf("a text of %d different tokens, repeated, is all that %s can read, "+
			"and %d are needed", K, r.e.Model.Name, fewestTokens))
		return nil
	}
	tensors, err := tracer.Trace(ctx, ids, []trace.Tap{trace.Attention})
	if err != nil {
		return err
	}
	a := tensors[0]
	kinds := &HeadKinds{Layers: a.Shape[0], Heads: a.Shape[1], Repeated: K, IDs: ids}
	for k, sources := range patternsOf(ids, make([]bool, len(ids))) {
		kind := HeadKind{Name: patternKinds[k], Threshold: kindFrom}
		clear(sources[:second+1])
		clear(sources[second+K:]) // control tokens
		kind.Random, kinds.Chance, _ = scoresOf(a, sources, r.e.Model.Bidirectional)
		kinds.Kinds = append(kinds.Kinds, kind)
	}
	kinds.Kinds = append(kinds.Kinds, r.nameMovers(a.Shape[0]*a.Shape[1]))
	kinds.choose()
	r.e.HeadKinds = kinds
	if r.opts.HeadKinds == KindsRandom {
		return nil
	}
	if err := r.kindsOnText(ctx, tracer); err != nil || r.opts.HeadKinds == KindsText {
		return err
	}
	return r.ablateHeads(ctx, m, ids, second, K)
}

// repeated returns a text of K random tokens twice, as the model begins and ends one, the place of
// the second half, and K: fewer than [repeatedTokens] if the context or the vocabulary is small.
func (r *run) repeated(m trace.Model, v trace.TextVocabulary) (ids []int, second, K int) {
	var before, after []int
	tokens, err := m.Encode("a", trace.SpecialsAuto) // of an error, no token is known
	for _, t := range tokens {
		switch {
		case err != nil || !t.Special:
		case t.End == 0:
			before = append(before, t.ID)
		default:
			after = append(after, t.ID)
		}
	}
	info := m.Info()
	K = repeatedTokens
	if info.Context > 0 {
		K = max(min(K, (info.Context-len(before)-len(after))/2), 0)
	}
	var half []int
	for _, id := range rand.New(rand.NewPCG(kindSeed, 0)).Perm(info.Vocab) {
		if len(half) == K {
			break
		}
		if v.IsText(id) {
			half = append(half, id)
		}
	}
	K = len(half)
	return slices.Concat(before, half, half, after), len(before) + K, K
}

// choose sets the heads of each kind.
func (k *HeadKinds) choose() {
	hasOther := map[int]bool{}
	for i := range k.Kinds {
		kind := &k.Kinds[i]
		scores := kind.Random
		if kind.Name == NameMoverHead {
			scores = kind.Text
		}
		for head, x := range scores {
			if x >= kind.Threshold && !(kind.Name == FirstTokenHead && hasOther[head]) {
				kind.Heads = append(kind.Heads, head)
				hasOther[head] = true
			}
		}
		slices.SortStableFunc(kind.Heads, func(a, b int) int {
			return cmp.Compare(scores[b], scores[a])
		})
	}
}

// addCopied adds what each head wrote into the logit of a prediction from where the text has the
// same token, of one that is a word.
func (r *run) addCopied(p *prediction) {
	if p == nil || p.terms == nil || p.terms.ByHead == nil || p.Special ||
		!slices.ContainsFunc([]rune(p.Text), inWord) {
		return
	}
	S := p.terms.S
	found := false
	for s, id := range r.text[:min(S, len(r.text))] {
		if id != p.ID {
			continue
		}
		if r.copied == nil {
			r.copied = make([]float64, len(p.terms.ByHead)/S)
		}
		for i := range r.copied {
			r.copied[i] += p.terms.ByHead[i*S+s]
		}
		found = true
	}
	if found {
		r.copies++
	}
}

// nameMovers returns the scores of n heads as name movers.
func (r *run) nameMovers(n int) HeadKind {
	kind := HeadKind{
		Name: NameMoverHead, Threshold: min(max(copiesFrom, copiesChance/float64(n)), .5),
	}
	whole := 0.0
	for _, x := range r.copied {
		whole += max(0, x)
	}
	if !(whole > 0) || len(r.copied) != n {
		return kind
	}
	kind.Tokens, kind.Chance, kind.Text = r.copies, 1/float64(n), make([]float64, n)
	for i, x := range r.copied {
		kind.Text[i] = max(0, x) / whole
	}
	return kind
}

// kindsOnText scores the heads on the text.
func (r *run) kindsOnText(ctx context.Context, m trace.Tracer) error {
	m, err := r.e.Traced(m)
	if err != nil {
		return err
	}
	tensors, err := m.Trace(ctx, r.e.TokenIDs(), []trace.Tap{trace.Attention})
	if err == nil {
		r.e.HeadKinds = r.e.HeadKinds.OnText(r.e, tensors[0])
	}
	return err
}

// ablateHeads takes away one head after another; see [HeadAblation].
func (r *run) ablateHeads(ctx context.Context, m trace.Model, ids []int, second, K int) error {
	kinds := r.e.HeadKinds
	n := kinds.Layers * kinds.Heads
	editable, ok := m.(trace.Editable)
	switch {
	case !ok || r.e.Model.Head != trace.NextToken:
		r.e.Warnings = append(r.e.Warnings, "No head is taken away: "+r.e.Model.Name+
			" does not predict the next token, or cannot be edited.")
		return nil
	case n*len(ids) > mostRead:
		r.e.Warnings = append(r.e.Warnings, fmt.Sprintf("No head is taken away: %d tokens would "+
			"be read for %d heads, and at most %d are.", n*len(ids), n, mostRead))
		return nil
	}
	run := func(edits ...trace.Edit) (float64, []trace.Tensor, error) {
		tensors, err := editable.Run(ctx, ids, []trace.Tap{trace.Logits, trace.Context}, edits)
		if err != nil {
			return 0, nil, err
		}
		return repeatedLoss(tensors[0], ids, second, K), tensors, nil
	}
	loss, tensors, err := run()
	if err != nil {
		return err
	}
	contexts := tensors[1] // [L,H,T,E]
	T, E := contexts.Shape[2], contexts.Shape[3]
	kinds.Ablation = &HeadAblation{Loss: loss, Without: make([]float64, n)}
	for i := range n {
		if r.opts.OnProgress != nil {
			r.opts.OnProgress(trace.Progress{
				Stage: "taking heads away", Unit: "head", Done: i, Total: n,
			})
		}
		x, _, err := run(trace.Edit{
			Tap: trace.Context, Layers: []int{i / kinds.Heads}, Heads: []int{i % kinds.Heads},
			Change: trace.SetMean, Shape: []int{T, 1, 1, 1, E},
			Value: contexts.Data[i*T*E:][:T*E],
		})
		if err != nil {
			return err
		}
		kinds.Ablation.Without[i] = x - loss
	}
	return nil
}

// repeatedLoss is the mean of -ln p over the tokens of the second half but its first, given the
// logits of the text, [T,V].
func repeatedLoss(logits trace.Tensor, ids []int, second, K int) (loss float64) {
	V := logits.Shape[len(logits.Shape)-1]
	for t := second; t < second+K-1; t++ {
		row := logits.Data[t*V:][:V]
		most, sum := float64(slices.Max(row)), 0.0
		for _, x := range row {
			sum += math.Exp(float64(x) - most)
		}
		loss += math.Log(sum) + most - float64(row[ids[t+1]])
	}
	return loss / float64(K-1)
}
