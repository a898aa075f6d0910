// Package patch finds where a model carries the difference between two prompts, by activation
// patching (Vig et al. 2020, "Investigating Gender Bias in Language Models Using Causal Mediation
// Analysis"; Meng et al. 2022, "Locating and Editing Factual Associations in GPT").
//
// Two prompts of equally many tokens, a clean and a corrupted one, lead to two answers. One is run
// with one place set to what the other has there. m is how much the model prefers the answer:
//
//	m = logit(answer) − logit(foil)
//	recovery = (m_patched − m_corrupted) / (m_clean − m_corrupted)    [Denoising]
//	loss     = (m_clean − m_patched) / (m_clean − m_corrupted)        [Noising]
//
// 1 means that the place alone carries the whole difference, 0 that it carries nothing, and below 0
// that it carries something against it. [Map] computes it for all places of a kind.
package patch

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("patch")

// Place is a kind of places.
type Place string

// The places.
const (
	// Residual is the residual stream before each layer, at each position: [L,T].
	Residual Place = "residual"
	// Attention is the output of the attention of each layer, at each position: [L,T].
	Attention Place = "attention"
	// FeedForward is the output of the feed-forward part of each layer, at each position: [L,T].
	FeedForward Place = "feed-forward"
	// Heads is the output of each head of each layer, at all positions together: [L,H].
	Heads Place = "heads"
	// LastHeads is the output of each head of each layer where the answer is predicted, which is at
	// all positions if the mean of them is read: [L,H].
	LastHeads Place = "heads-last"
	// Queries, Keys and Values are those of each head of each layer, at all positions together:
	// [L,H]. Heads that share a key or a value are patched together, and have the same number.
	Queries Place = "queries"
	Keys    Place = "keys"
	Values  Place = "values"
	// Path is the way from each head to [Options.Receiver] past all other heads: [L,H].
	Path Place = "path"
	// Edges are the edges between all nodes, see [EdgeResult]: [V,U].
	Edges Place = "edges"
)

// Places returns the places that are patched as a whole, in the order in which they are documented.
func Places() []Place {
	return []Place{
		Residual, Attention, FeedForward, Heads, LastHeads, Queries, Keys, Values,
	}
}

// Kinds returns all places, [Path] and [Edges] among them.
func Kinds() []Place { return append(Places(), Path, Edges) }

// tap is what is set at a place. A head's context stands for its output, which is a linear function
// of it and has more numbers.
func (p Place) tap() trace.Tap {
	switch p {
	case Residual:
		return trace.Hidden
	case Attention:
		return trace.AttentionOutput
	case FeedForward:
		return trace.FeedForwardOutput
	case Queries:
		return trace.QueryVector
	case Keys:
		return trace.KeyVector
	case Values:
		return trace.Value
	case Edges: // the runs of edges have what they need of their own
		return trace.Logits
	}
	return trace.Context
}

// ByHead reports whether places are heads, and not positions.
func (p Place) ByHead() bool {
	return slices.Contains([]Place{Heads, LastHeads, Queries, Keys, Values, Path}, p)
}

// Direction is which of the two runs is patched.
type Direction string

// The directions.
const (
	// Denoising runs the corrupted prompt with values of the clean one: what suffices to bring the
	// answer back.
	Denoising Direction = "denoising"
	// Noising runs the clean prompt with values of the corrupted one: what the answer needs.
	Noising Direction = "noising"
)

// Directions returns both directions, the default first.
func Directions() []Direction { return []Direction{Denoising, Noising} }

// Estimate is attribution patching (Nanda 2023; Syed et al. 2023, "Attribution Patching Outperforms
// Automated Circuit Discovery"): two runs and one gradient, whatever the number of places. a is
// what a run has at the place, and the gradient is that of the run that is patched:
//
//	recovery ≈ (a_other − a_patched) · ∂m/∂a / (m_other − m_patched)
//
// It is exact where m is linear between the two runs, and may be far off where a change is large:
// in the residual stream of early layers and where attention saturates.
//
// AtP* (Kramár et al. 2024, "AtP*: An efficient and scalable method for localizing LLM behaviour to
// components", arXiv 2403.00745) repairs two ways in which an estimate is 0 or far too small. For a
// query or a key, a is the attention of the head, and a_other what the softmax gives with the other
// query or key, so that saturation does not hide it (eq. 7 and 10). And what goes through a later
// layer may cancel what goes past it, so there is a gradient for each layer ℓ through which nothing
// goes back but the residual stream, and the sizes of their estimates I_ℓ are averaged (eq. 11):
//
//	|recovery| ≈ 1/(L−1) Σ_ℓ |I_ℓ|
//
// I_ℓ is 0 for what is in layer ℓ. In a model of one layer the only term is the estimate itself.
type Estimate string

// The estimates; "" is none.
const (
	// Alone is estimates in place of runs: [Result.Recovery] is nil.
	Alone Estimate = "alone"
	// Beside is estimates beside the runs, and how well they fit.
	Beside Estimate = "beside"
	// StarAlone and StarBeside are these by AtP*, which has no sign.
	StarAlone  Estimate = "atp-star"
	StarBeside Estimate = "atp-star-beside"
)

// Estimates returns the estimates.
func Estimates() []Estimate { return []Estimate{Alone, Beside, StarAlone, StarBeside} }

// Star reports whether the estimate is AtP*.
func (e Estimate) Star() bool { return e == StarAlone || e == StarBeside }

// Places returns the places that are estimated: by AtP* what layers compute.
func (e Estimate) Places() []Place {
	if e.Star() {
		return Places()[1:]
	}
	return Places()
}

// alone reports whether there are no runs.
func (e Estimate) alone() bool { return e == Alone || e == StarAlone }

// Options are what is patched, and how. Clean and Corrupted are needed.
type Options struct {
	// Clean and Corrupted are the tokens of the prompts, T each.
	Clean, Corrupted []trace.Token
	// Position is the target at which the answer is predicted, 0-based; nil is the last one, and
	// the first one in an encoder that classifies whole texts.
	Position *int
	// Answer and Foil are tokens or classes. nil is what the model predicts after the clean and
	// after the corrupted prompt.
	Answer, Foil *int
	// Place is what is patched; default [Residual]. Direction is default [Denoising]; edges are
	// those of the clean run.
	Place     Place
	Direction Direction
	// Estimate is whether [Result.Estimate] is computed; not of [Path] and [Edges].
	Estimate Estimate
	// Receiver is where each [Path] ends: the query, key or value of a head, or the logits, which
	// is the default.
	Receiver Node
	// Steps is n, how many gradients [Edges] are scored by; default [DefaultSteps]. 1 is edge
	// attribution patching by one gradient.
	Steps int
	// Edits change both runs, and patches come after them. Those of [Edges] are of what nodes
	// compute; see [trace.CheckEdgeEdits].
	Edits []trace.Edit
	// Progress, if not nil, is called during the work.
	Progress func(trace.Progress)
}

// Result is what patching each place of a kind does.
type Result struct {
	Place     Place     `json:"place"`
	Direction Direction `json:"direction"`
	// Receiver is where each [Path] ends, nil of other places.
	Receiver *Node `json:"receiver,omitempty"`
	// Clean and Corrupted are the texts of the tokens of both prompts, [T]. Different are the
	// positions at which the tokens differ, in rising order.
	Clean     attribution.TokenTexts `json:"clean"`
	Corrupted attribution.TokenTexts `json:"corrupted"`
	Different []int                  `json:"different"`
	// Position is the target at which Answer and Foil are compared.
	Position int   `json:"position"`
	Answer   Token `json:"answer"`
	Foil     Token `json:"foil"`
	// CleanDifference and CorruptedDifference are m of both prompts.
	CleanDifference     float64 `json:"clean_difference"`
	CorruptedDifference float64 `json:"corrupted_difference"`
	// Axes are the names of the axes of Recovery, and Shape their sizes: layer and position, or
	// layer and head.
	Axes  [2]string `json:"axes"`
	Shape [2]int    `json:"shape"`
	// Shared are the columns that are one place and so have the same numbers, of [Keys] and
	// [Values]: the heads of each group that share them. nil if each head has its own.
	Shared [][]int `json:"shared,omitempty"`
	// Recovery is the recovery, or for [Noising] the loss, of each place, row-major; nil of [Edges]
	// and with [Alone].
	Recovery []float64 `json:"recovery"`
	// Estimate is the estimate of each place, in the form of Recovery. Correlation is that of the
	// two (Pearson) over the places that differ between both runs; nil unless both are there and
	// vary. Star is whether it is AtP*, the size of the recovery, with whose size it is correlated.
	Estimate    []float64 `json:"estimate,omitempty"`
	Correlation *float64  `json:"correlation,omitempty"`
	Star        bool      `json:"star,omitempty"`
	// Edges is what patching [Edges] finds, nil of other places.
	Edges *EdgeResult `json:"edges,omitempty"`
	// Runs is how many patched runs were made. Places that have the same values in both runs need
	// none: nothing would change, and their recovery is exactly 0.
	Runs int `json:"runs"`
}

// Token is a token or a class. Text is "" for a class.
type Token struct {
	ID   int    `json:"id"`
	Text string `json:"text,omitempty"`
}

// String returns the token as a message names it.
func (t Token) String() string {
	if t.Text == "" {
		return fmt.Sprint(t.ID)
	}
	return message.Quote(t.Text)
}

// Values returns the recoveries, or the estimates if there is nothing else.
func (r *Result) Values() []float64 {
	if r.Recovery == nil {
		return r.Estimate
	}
	return r.Recovery
}

// At returns the value of a layer at a position or of a head.
func (r *Result) At(layer, i int) float64 { return r.Values()[layer*r.Shape[1]+i] }

const (
	// mostRead is how many tokens all patched runs may read. A model of 135 million parameters
	// reads them in four minutes on two cores.
	mostRead = 1 << 17
	// runsAtOnce is how many runs are asked for in one call, after which the progress is told.
	runsAtOnce = 16
	// leastDifference is the least distance between m of both prompts. Logits are exact to about
	// 1e-5, so that recoveries are exact to a hundredth or better.
	leastDifference = 1e-3
)

// runner is a model that can be patched.
type runner interface {
	trace.Predictor
	trace.Editable
}

// patching is a pair of prompts that is being patched. base is the prompt that is run, and other
// the one whose values are set.
type patching struct {
	m           runner
	o           Options
	base, other []int
	position    int
	objective   trace.Objective
	r           *Result
	// have and set are what the runs of base and other have at the tap of the place.
	have, set trace.Tensor
	// changed are the places whose values differ, one of those that share them, and ends are m of
	// base and of other.
	changed []int
	ends    []float64
}

// Map patches all places of a kind, one at a time, or the edges. It returns a [trace.UsageError] if
// the prompts do not have the same number of tokens or are the same, if both lead to the same
// answer, if the model cannot run under edits, lacks the receiver or has no such edges, if it gives
// no gradients with respect to taps and estimates are asked for, or if more than 131,072 tokens
// would be read; other errors are those of the model.
//
// It costs a run of each prompt and one for each place whose values differ between them, and keeps
// what both runs have at the tap of the places. A [Path] to a head costs two runs, and edges cost
// three runs of each prompt, a gradient for each step and about 30 runs, all of which compute the
// projections of every head apart, and memory for 4U streams of the text.
func Map(ctx context.Context, m trace.Model, o Options) (*Result, error) {
	p, err := newPatching(m, o)
	if err == nil {
		err = p.record(ctx)
	}
	if err == nil {
		err = p.measure(ctx)
	}
	if err == nil && p.o.Place == Edges {
		err = p.edges(ctx)
	} else if err == nil {
		err = p.places(ctx)
	}
	if err != nil {
		return nil, err
	}
	return p.r, nil
}

// Check returns the error of [Map] if the model, the options or the tokens of the prompts are
// wrong, which needs no run of the model.
func Check(m trace.Model, o Options) error {
	_, err := newPatching(m, o)
	return err
}

// newPatching checks the options and sets the defaults that need no run.
func newPatching(m trace.Model, o Options) (*patching, error) {
	if o.Place == "" {
		o.Place = Residual
	}
	switch {
	case o.Place == Edges:
		o.Direction, o.Steps = Noising, cmp.Or(o.Steps, DefaultSteps)
	case o.Direction == "":
		o.Direction = Denoising
	}
	if err := cmp.Or(
		known("place", o.Place, Kinds()), known("direction", o.Direction, Directions()),
		known("estimate", o.Estimate, append(Estimates(), "")),
	); err != nil {
		return nil, err
	}
	run, ok := m.(runner)
	if !ok {
		return nil, usagef("%s does not run with values that are set", m.Info().Name)
	}
	if o.Estimate != "" {
		if !slices.Contains(o.Estimate.Places(), o.Place) {
			return nil, usagef("there are no estimates of the place %s by %s", o.Place, o.Estimate)
		}
		if o.Estimate.Star() && m.Info().EncoderLayers > 0 {
			return nil, usagef("%s has two stacks, and AtP* is of the layers of one; take the "+
				"estimate %s", m.Info().Name, Beside)
		}
		if _, ok := m.(trace.Differentiable); !ok {
			return nil, usagef("%s gives no gradients, which estimates need", m.Info().Name)
		}
	}
	different, err := align(o.Clean, o.Corrupted)
	if err != nil {
		return nil, err
	}
	p := &patching{m: run, o: o, position: len(o.Clean) - 1}
	p.base, p.other = trace.IDs(o.Corrupted), trace.IDs(o.Clean)
	if o.Direction == Noising {
		p.base, p.other = p.other, p.base
	}
	info := m.Info()
	if info.Bidirectional && info.Head.WholeText() {
		p.position = 0
	}
	if o.Position != nil {
		p.position = *o.Position
	}
	if p.position < 0 || p.position >= len(o.Clean) {
		return nil, usagef("the answer is predicted at position %d; the prompts have positions 0 "+
			"to %d", p.position, len(o.Clean)-1)
	}
	p.r = &Result{
		Place: o.Place, Direction: o.Direction, Clean: texts(o.Clean),
		Corrupted: texts(o.Corrupted), Different: different, Position: p.position,
		Axes: [2]string{"layer", "position"}, Shape: [2]int{info.Layers, len(o.Clean)},
	}
	if o.Place.ByHead() {
		p.r.Axes[1], p.r.Shape[1] = "head", info.Heads
	}
	for h := 0; h < p.r.Shape[1] && (o.Place == Keys || o.Place == Values); {
		group := info.Sharing(h)
		if h += len(group); len(group) > 1 {
			p.r.Shared = append(p.r.Shared, group)
		}
	}
	switch o.Place {
	case Path:
		err = p.checkPath()
	case Edges:
		err = p.checkEdges()
	}
	p.r.Star = o.Estimate.Star()
	if err == nil && o.Place != Edges {
		err = p.checkRuns()
	}
	return p, err
}

// checkRuns returns an error if the runs of all places that may differ would read too much. In a
// decoder no place before the first token that differs does. A gradient takes the time of
// gradientRuns.
func (p *patching) checkRuns() error {
	const gradientRuns = 3
	info, n, runs := p.m.Info(), len(p.base), p.r.Shape[0]*p.r.Shape[1]
	switch {
	case p.o.Estimate.alone():
		runs = 0
	case p.o.Place == Path:
		runs = p.end() * p.r.Shape[1] * p.runsEach()
	case !p.o.Place.ByHead() && !info.Bidirectional && info.EncoderLayers == 0:
		runs = p.r.Shape[0] * (n - p.r.Different[0])
	}
	if p.r.Star {
		runs += gradientRuns * info.Layers
	}
	read := (runs + 2) * n
	if read <= mostRead {
		return nil
	}
	advice := "take shorter prompts"
	if p.o.Place != Path { // of which there are no estimates
		advice += fmt.Sprintf(", a difference nearer to their end, or estimates (%s %s), which "+
			"cost one gradient", trace.Called("patch estimate"), Alone)
	}
	return usagef("%d runs of %d tokens read %d tokens, and at most %d are read; %s", runs, n,
		read, mostRead, advice)
}

// runsEach is how many runs a place takes.
func (p *patching) runsEach() int {
	if p.o.Place == Path && p.o.Receiver.Kind == HeadNode {
		return 2
	}
	return 1
}

// known returns an error for a name that is not known.
func known[T ~string](what string, name T, all []T) error {
	if slices.Contains(all, name) {
		return nil
	}
	return usagef("%s %.60q is unknown; %s", what, name, message.KnownAre(name, all))
}

// align returns the positions at which two prompts differ. It returns an error if there are none,
// or if the prompts have different numbers of tokens, so that positions do not correspond.
func align(clean, corrupted []trace.Token) (different []int, err error) {
	for _, t := range append(slices.Clone(clean), corrupted...) {
		if t.Type != 0 {
			return nil, usagef("a pair of texts cannot be patched; give one text")
		}
	}
	if len(clean) != len(corrupted) {
		begin, n := 0, min(len(clean), len(corrupted))
		for begin < n && clean[begin].ID == corrupted[begin].ID {
			begin++
		}
		end := 0
		for end < n-begin && clean[len(clean)-1-end].ID == corrupted[len(corrupted)-1-end].ID {
			end++
		}
		return nil, usagef("the clean prompt has %d tokens and the corrupted one %d, so positions "+
			"do not correspond; they differ in %s and %s: take words of as many tokens",
			len(clean), len(corrupted), quoted(clean[begin:len(clean)-end]),
			quoted(corrupted[begin:len(corrupted)-end]))
	}
	for i := range clean {
		if clean[i].ID != corrupted[i].ID {
			different = append(different, i)
		}
	}
	if different == nil {
		return nil, usagef("both prompts have the same tokens; change a word of one")
	}
	return different, nil
}

// quoted lists the texts of some tokens, at most 10.
func quoted(tokens []trace.Token) string {
	const most = 10
	if len(tokens) == 0 {
		return "no token"
	}
	var all []string
	for _, t := range tokens[:min(most, len(tokens))] {
		all = append(all, message.Quote(t.Text))
	}
	if len(tokens) > most {
		all = append(all, "…")
	}
	return "[" + strings.Join(all, " ") + "]"
}

func texts(tokens []trace.Token) []string {
	all := make([]string, len(tokens))
	for i, t := range tokens {
		all[i] = t.Text
	}
	return all
}

// record runs both prompts once and keeps what they have at the tap of the place. It chooses answer
// and foil.
func (p *patching) record(ctx context.Context) error {
	p.progress(0, 0)
	best := make([]int, 2)
	for i, ids := range [][]int{p.base, p.other} {
		tensors, err := p.m.Run(ctx, ids, []trace.Tap{p.o.Place.tap(), trace.Logits}, p.o.Edits)
		if err != nil {
			return err
		}
		*[]*trace.Tensor{&p.have, &p.set}[i] = tensors[0]
		scores := tensors[1]
		width := scores.Shape[len(scores.Shape)-1]
		row := min(p.position, len(scores.Data)/width-1) // classes of the whole text have one
		at := scores.Data[row*width : (row+1)*width]
		best[i] = slices.Index(at, slices.Max(at))
	}
	clean, corrupted := best[1], best[0]
	if p.o.Direction == Noising {
		clean, corrupted = corrupted, clean
	}
	if p.o.Answer != nil {
		clean = *p.o.Answer
	}
	if p.o.Foil != nil {
		corrupted = *p.o.Foil
	}
	p.r.Answer, p.r.Foil = p.token(clean), p.token(corrupted)
	if clean == corrupted {
		return usagef("answer and foil are both %s; if the model predicts it after either prompt, "+
			"name another foil by %s", p.r.Answer, trace.Called("contrast", "Foil"))
	}
	p.objective = trace.Objective{
		Quantity: trace.Logit, Position: p.position, Token: clean, Contrast: &corrupted,
	}
	return nil
}

// token returns the token or class of an id.
func (p *patching) token(id int) Token {
	t := Token{ID: id}
	if m, ok := p.m.(trace.TokenTexter); ok && !p.m.Info().Head.Classifies() {
		t.Text = m.TokenText(id)
	}
	return t
}

// at returns the edit of place k, without its value.
func (p *patching) at(k int) trace.Edit {
	layer, i := k/p.r.Shape[1], k%p.r.Shape[1]
	e := trace.Edit{Tap: p.o.Place.tap(), Layers: []int{layer}, Change: trace.SetValue}
	if !p.o.Place.ByHead() {
		e.Positions = []int{i}
		return e
	}
	if e.Heads = []int{i}; p.o.Place == Keys || p.o.Place == Values {
		e.Heads = p.m.Info().Sharing(i)
	}
	if p.o.Place == LastHeads && !p.m.Info().MeanPooled {
		e.Positions = []int{p.position}
	}
	return e
}

// measure computes m of both prompts.
func (p *patching) measure(ctx context.Context) error {
	r := p.r
	ends, err := p.m.Predict(ctx, []trace.Query{p.query(p.base), p.query(p.other)})
	if err != nil {
		return err
	}
	if math.Abs(ends[1]-ends[0]) < leastDifference {
		return usagef("the difference between the logits of %s and %s is %.3g after one prompt "+
			"and %.3g after the other, so there is nothing to carry; name another answer or foil",
			r.Answer, r.Foil, ends[0], ends[1])
	}
	p.ends = ends
	r.CleanDifference, r.CorruptedDifference = ends[1], ends[0]
	if p.o.Direction == Noising {
		r.CleanDifference, r.CorruptedDifference = ends[0], ends[1]
	}
	return nil
}

// places finds the places that differ, and estimates and patches them as the options say. Where
// both runs have the same values, patching changes nothing, and the place is not run. In a decoder
// these are all places at positions before the first token that differs: what is computed there
// reads no later token, so both runs have the same bits.
func (p *patching) places(ctx context.Context) (err error) {
	end, shared := p.r.Shape[0], [][2]int(nil)
	if p.o.Place == Path {
		end = p.end()
	}
	for k := range end * p.r.Shape[1] {
		before, err := p.at(k).From(p.have)
		if err != nil {
			return err
		}
		after, err := p.at(k).From(p.set)
		if err != nil {
			return err
		}
		first := k
		if p.o.Place.ByHead() {
			first += p.at(k).Heads[0] - k%p.r.Shape[1]
		}
		switch {
		case slices.Equal(before.Value, after.Value):
		case first == k:
			p.changed = append(p.changed, k)
		default:
			shared = append(shared, [2]int{first, k})
		}
	}
	if p.o.Estimate != "" {
		err = p.estimate(ctx)
	}
	if err == nil && !p.o.Estimate.alone() {
		err = p.run(ctx)
		p.correlate()
	}
	for _, s := range shared {
		for _, values := range [][]float64{p.r.Recovery, p.r.Estimate} {
			if values != nil {
				values[s[1]] = values[s[0]]
			}
		}
	}
	return err
}

// run patches each place that differs and fills in the recoveries.
func (p *patching) run(ctx context.Context) error {
	r, n := p.r, len(p.changed)
	r.Recovery, r.Runs = make([]float64, r.Shape[0]*r.Shape[1]), n*p.runsEach()
	for done := 0; done < n; done += runsAtOnce {
		p.progress(done, n)
		some := p.changed[done:min(done+runsAtOnce, n)]
		queries := make([]trace.Query, len(some))
		for i, k := range some {
			e, err := p.at(k).From(p.set)
			edits := []trace.Edit{e}
			if err == nil && p.o.Place == Path {
				edits, err = p.received(ctx, e)
			}
			if err != nil {
				return err
			}
			queries[i] = p.query(p.base, edits...)
		}
		values, err := p.m.Predict(ctx, queries)
		if err != nil {
			return err
		}
		for i, k := range some {
			r.Recovery[k] = p.share(values[i] - p.ends[0])
		}
	}
	return nil
}

// share is how far a change of m goes from base to other, in both directions.
func (p *patching) share(change float64) float64 { return change / (p.ends[1] - p.ends[0]) }

// query asks for m of a prompt under edits after those of the options.
func (p *patching) query(ids []int, edits ...trace.Edit) trace.Query {
	return trace.Query{
		IDs: ids, Edits: slices.Concat(p.o.Edits, edits), Objective: p.objective,
	}
}

// progress tells how many runs are done of all; 0 of all before they are counted.
func (p *patching) progress(done, all int) {
	if p.o.Progress != nil {
		p.o.Progress(trace.Progress{
			Stage: "patching " + string(p.o.Place), Unit: "run", Done: done, Total: all,
		})
	}
}

func usagef(format string, args ...any) error {
	return &trace.UsageError{Package: string(pkg), Reason: message.Sprintf(format, args...)}
}
