package attribution

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
	"github.com/headwater-ml/headwater/internal/budget"
	"github.com/headwater-ml/headwater/internal/message"
)

// newRun checks everything that can be checked before the model runs.
func newRun(m trace.Model, prompt string, opts Options) (*run, error) {
	info := m.Info()
	if err := opts.Check(); err != nil {
		return nil, err
	}
	if err := opts.checkModel(info); err != nil {
		return nil, err
	}
	if prompt == "" && len(opts.Conversation.Messages) == 0 {
		return nil, trace.Usagef("the prompt is empty; give some text to %s", purpose(info))
	}
	if len(prompt) > maxTextBytes {
		return nil, trace.Usagef("prompt of %d bytes; at most %d", len(prompt), maxTextBytes)
	}
	opts, leftOut, err := opts.fitEdits(m)
	if err != nil {
		return nil, err
	}
	p, err := newPlan(opts, settingOf(m, opts))
	if err != nil {
		return nil, err
	}
	if leftOut != "" {
		p.warnings = append(p.warnings, leftOut)
	}
	if !info.Head.Competes() {
		if opts.Foils != nil && *opts.Foils > 0 {
			return nil, trace.Usagef("foils %d; what %s scores does not exclude each other, so "+
				"there is nothing to compare with", *opts.Foils, message.Quote(info.Name))
		}
		opts.Foils = new(0)
	}
	read, tokens, err := readPrompt(m, prompt, opts)
	if err != nil {
		return nil, err
	}
	r := &run{opts: opts, plan: p, types: read.Types}
	for _, t := range tokens {
		r.ids = append(r.ids, t.ID)
	}
	p.see(info.Prefix(r.ids), info.EncoderLayers)
	if err := r.prepareScoring(m, read.Text); err != nil {
		return nil, err
	}
	if info.Reads() {
		err = r.prepareReading(m, info, tokens)
		r.ask.Types, r.ask.Answers = r.types, read.answers()
	} else {
		err = r.prepareAsk(m, info, read)
	}
	if err != nil {
		return nil, err
	}
	r.text = slices.Clone(r.ids)
	r.start(info, read)
	if err := cmp.Or(r.placeEdits(), r.prepareGroups()); err != nil {
		return nil, err
	}
	if err := r.beginStudies(m, prompt); err != nil {
		return nil, err
	}
	r.remark(m, read.Text)
	return r, nil
}

// settingOf returns what a plan has to know of a model.
func settingOf(m trace.Model, opts Options) setting {
	info := m.Info()
	set := setting{
		layers: info.Layers, heads: info.Heads, allLevels: opts.AllLevels,
		generates: !info.Reads(),
		byDefault: DefaultMethods(info), numbers: info.Numbers,
		classes: info.Head.Classifies() && info.Head.Competes(),
	}
	if reader, ok := m.(trace.LayerReader); ok {
		set.readsLayers = reader.ReadsLayers()
	}
	return set
}

// readPrompt returns the prompt as the model reads it, and its tokens: in the chat template if it
// is said in a chat, and with the second text of a pair.
func readPrompt(m trace.Model, prompt string, opts Options) (
	read Prompt, tokens []trace.Token, err error,
) {
	var parts []trace.Part
	if opts.InChat() {
		if prompt, parts, err = conversation(m, opts.Conversation, prompt); err != nil {
			return Prompt{}, nil, err
		}
		opts.Specials = trace.SpecialsOff // the chat template adds them
	}
	prompt, second, tokens, err := encode(m, prompt, opts)
	if err != nil {
		return Prompt{}, nil, err
	}
	info := m.Info()
	if len(tokens) == 0 {
		return Prompt{}, nil, trace.Usagef("the prompt %s has no tokens; give some text to %s",
			message.Quote(prompt), purpose(info))
	}
	read = newPrompt(prompt, tokens)
	read.Second, read.Parts = second, parts
	if err := read.Units().Check(); err != nil {
		return Prompt{}, nil, pkg.Errorf("prompt: %s gives wrong tokens: %w",
			message.Quote(info.Name), err)
	}
	return read, tokens, nil
}

// encode returns the tokens of a prompt and the text that they are of, which for a pair has both
// texts; second is where the second one begins.
func encode(m trace.Model, prompt string, opts Options) (
	text string, second int, tokens []trace.Token, err error,
) {
	if opts.Pair == "" {
		tokens, err = m.Encode(prompt, opts.Specials)
	} else {
		pairs, ok := m.(trace.PairEncoder)
		if !ok {
			return "", 0, nil, trace.Usagef("%s cannot encode two texts as a pair",
				message.Quote(m.Info().Name))
		}
		tokens, err = pairs.EncodePair(prompt, opts.Pair, opts.Specials)
		prompt, second = trace.JoinPair(prompt, opts.Pair)
	}
	if err != nil {
		return "", 0, nil, pkg.Errorf("prompt: %w", err)
	}
	return prompt, second, tokens, nil
}

// conversation returns the text that the model sees when a user says the prompt, with its parts:
// the chat template filled in.
func conversation(
	m trace.Model, c trace.Conversation, prompt string,
) (string, []trace.Part, error) {
	talker, ok := m.(trace.Conversational)
	if !ok {
		return "", nil, trace.Usagef("%s knows no form of conversation; explain the prompt as "+
			"it is", message.Quote(m.Info().Name))
	}
	text, parts, err := talker.Converse(c, prompt)
	if err != nil {
		return "", nil, err
	}
	if len(text) > maxTextBytes {
		return "", nil, trace.Usagef("conversation of %d bytes; at most %d", len(text),
			maxTextBytes)
	}
	return text, parts, nil
}

// prepareAsk sets what a decoder is asked for. It returns an error if the tokens exceed the model's
// context or the rows its memory.
func (r *run) prepareAsk(m trace.Model, info trace.Info, read Prompt) error {
	prompt, left := len(read.IDs), info.Room(read.IDs)
	needs := r.opts.studyNeeds()
	r.tokens = r.opts.MaxTokens
	if r.tokens == 0 {
		r.tokens = cmp.Or(needs.Tokens, defaultTokens)
		if 0 < left && left < r.tokens {
			r.tokens = left
			r.warn(fmt.Sprintf("The context of %s has %d tokens, so at most %d come after the "+
				"prompt.", message.Quote(info.Name), info.Context, left))
		}
	}
	r.ask = trace.Ask{
		Mixings: r.plan.asks, Sampling: r.opts.Sampling, Alternatives: r.alternatives(),
		Progress: r.opts.OnProgress, Logits: needs.Logits,
	}
	if needs.Lens {
		r.ask.Lens = r.opts.alternatives()
	}
	if r.plan.needsTerms() {
		r.ask.Terms = &trace.TermsAsk{Contrast: r.contrast, Rows: r.plan.lateAsks}
		if r.ask.Terms.Foils = r.opts.scoredFoils(false); r.plan.choosesLayer() ||
			needs.ByHead {
			r.ask.Terms.Alone = r.plan.scoresLive() && r.ask.Terms.Foils != r.opts.foils()
			r.ask.Terms.Foils = r.opts.foils()
		}
	}
	if needs.ByHead {
		if r.ask.Terms == nil {
			r.ask.Terms = &trace.TermsAsk{Contrast: r.contrast, Foils: r.opts.foils()}
		}
		r.ask.Terms.ByHead = true
	}
	if r.opts.Continuation != "" {
		tokens, joined, err := trace.EncodeAfter(m, read.Text, r.opts.Continuation)
		if err != nil {
			return pkg.Errorf("continuation: %w", err)
		}
		if len(tokens) == 0 {
			return trace.Usagef("the continuation %s has no tokens",
				message.Quote(r.opts.Continuation))
		}
		for _, t := range tokens {
			r.ask.Continuation = append(r.ask.Continuation, t.ID)
		}
		if joined {
			r.warn(fmt.Sprintf("In one text, the model would read the end of the prompt, %s, and "+
				"the start of the continuation, %s, as other tokens than it is given here.",
				message.Quote(read.Texts[prompt-1]), message.Quote(tokens[0].Text)))
		}
		r.tokens = len(tokens)
	}
	if r.contrast != nil {
		r.addSpaced(m, read.Text, "Explained against", "contrast", r.opts.Contrast)
	}
	if r.opts.Continuation != "" {
		r.addSpaced(m, read.Text, "The continuation begins with", "continuation",
			r.opts.Continuation)
	}
	r.ask.Logits = r.ask.Logits || r.spaced != nil
	r.plan.chooseVectors(m, prompt, r.tokens)
	r.ask.Products = r.plan.usesVectors()
	r.ask.MaxTokens = r.tokens
	stacks := info.EncoderLayers > 0 // a source may fill the context, and has one of its own
	switch {
	case left < 0 && stacks:
		return trace.Usagef("the source has %d tokens, and the context of %s is %d tokens; "+
			"shorten the source by %d or more", info.Context-left, message.Quote(info.Name),
			info.Context, -left)
	case left <= 0:
		return trace.Usagef("the prompt has %d tokens, and the context of %s is %d tokens; "+
			"shorten the prompt by %d or more", info.Context-left, message.Quote(info.Name),
			info.Context, 1-left)
	case r.tokens > left && stacks:
		return trace.Usagef("%d tokens to explain, but the context of %s has room for %d in the "+
			"target; take fewer", r.tokens, message.Quote(info.Name), left)
	case r.tokens > left:
		return trace.Usagef(
			"%d prompt tokens and %d to explain are %d, but the context of %s is %d "+
				"tokens; shorten one of them", info.Context-left, r.tokens,
			info.Context-left+r.tokens, message.Quote(info.Name), info.Context,
		)
	}
	need := r.plan.bytes(prompt, r.tokens)
	if needs.Logits {
		need += 4 * float64(r.tokens) * float64(info.Vocab)
	}
	return budget.Check(m, need,
		fmt.Sprintf("%d tokens: what the methods keep", prompt+r.tokens),
		"take a shorter text or fewer layers")
}

// prepareGroups reads how tokens are grouped. It returns a usage error if that does not fit the
// prompt.
func (r *run) prepareGroups() (err error) {
	if r.by, err = units.ParseGrouping(r.opts.By); err != nil {
		return err
	}
	if r.target, err = units.ParseTarget(r.opts.Target); err != nil {
		return err
	}
	if r.tokens > 0 {
		if err := lacking(r.target, r.target.Lacks(r.tokens)); err != nil {
			return err
		}
	}
	if r.by.OfTokens() {
		return nil
	}
	if r.spans, err = r.e.spansOf(r.by); err != nil {
		if usage := (*trace.UsageError)(nil); errors.As(err, &usage) {
			return LookupOption("by").usagef("%s %s: %s", trace.Called("by"), r.by,
				usage.Reason)
		}
		return err
	}
	for _, m := range r.plan.methods {
		if m.info().Together {
			r.e.Methods[m.Name].Options["spans"] = together
		}
	}
	return nil
}

// start creates the explanation, with all its methods and no generated tokens.
func (r *run) start(info trace.Info, prompt Prompt) {
	prompt.BOSAdded = !info.Reads() && prompt.Special[0] &&
		prompt.Offsets[0][0] == prompt.Offsets[0][1]
	r.e = &Explanation{
		Version: Version, Model: info, Prompt: prompt, Steps: []GeneratedToken{},
		Methods: map[string]*Result{}, Warnings: []string{},
	}
	for _, m := range r.plan.methods {
		settings := r.opts.settings(m)
		switch {
		case m.scorer != nil:
			settings["row"] = "prediction"
		case info.Reads():
			settings["row"] = "position explained"
		default:
			settings["row"] = "predicting position"
		}
		r.e.Order = append(r.e.Order, m.Name)
		r.e.Methods[m.Name] = &Result{
			Options: settings, Facts: m.facts, Layers: m.levels, Unit: m.unit,
			Shape: [3]int{0, len(prompt.IDs), len(m.levels)}, Rows: [][]float64{},
			OtherMass: []float64{}, Shown: []int{},
		}
	}
}
