package attribution

import (
	"fmt"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// Limits of options: far above what a picture can show, and low enough that a slip of the finger does not fill memory.
const (
	defaultTokens       = 16
	maxTokens           = 4096
	defaultAlternatives = 5
	maxAlternatives     = 1000
	maxTextBytes        = 1 << 20

	// Above 100 tokens are drawn evenly, whatever the model says: logits are some tens apart.
	maxTemperature = 100
	// The largest vocabularies have some 300,000 tokens.
	maxTopK = 1_000_000
	// A distance of value zeroing is at most 2 by the angle; a Euclidean one is a length of the
	// residual stream, thousands in models with a few large components.
	maxThreshold = 1e6
)

// Check returns a [UsageError] for the first option that no model and no method can fulfil: a number
// out of its range, options that exclude each other. [Explain] checks them too, and then those that
// depend on the model and the methods; whoever passes options on may want to know before.
func (o Options) Check() error {
	if o.MaxTokens < 0 || o.MaxTokens > maxTokens {
		return usagef("max tokens %d; it must be in [1,%d], or 0 for %d", o.MaxTokens, maxTokens, defaultTokens)
	}
	if o.Alternatives < 0 || o.Alternatives > maxAlternatives {
		return usagef("alternatives %d; it must be in [1,%d], or 0 for %d",
			o.Alternatives, maxAlternatives, defaultAlternatives)
	}
	if o.Chat && o.Specials != trace.SpecialsAuto {
		return usagef("chat and specials; the form of a conversation has its own control tokens")
	}
	if o.Specials < trace.SpecialsAuto || o.Specials > trace.SpecialsOff {
		return usagef("specials %d; it must be auto, on or off", o.Specials)
	}
	if len(o.Continuation) > maxTextBytes {
		return usagef("continuation of %d bytes; at most %d", len(o.Continuation), maxTextBytes)
	}
	if err := checkSampling(o.Sampling); err != nil {
		return err
	}
	if err := o.checkContinuation(); err != nil {
		return err
	}
	if len(o.Contrast) > maxTextBytes {
		return usagef("contrast of %d bytes; it must be one token", len(o.Contrast))
	}
	if err := o.Scoring.check(); err != nil {
		return err
	}
	if err := o.checkPlaces(); err != nil {
		return err
	}
	return o.checkMethods()
}

// checkPlaces returns a usage error for layers, heads and positions that no model has.
func (o Options) checkPlaces() error {
	switch {
	case o.FirstLayer < 0:
		return usagef("first layer %d; layers count from 0", o.FirstLayer)
	case o.LastLayer != nil && *o.LastLayer < o.FirstLayer:
		return usagef("layers %d to %d; the last one must be at least the first", o.FirstLayer, *o.LastLayer)
	case o.PerHead != nil && *o.PerHead < 0:
		return usagef("per-head %d; heads count from 0", *o.PerHead)
	case o.Heads.Fusion == trace.OneHead && o.Heads.Head < 0:
		return usagef("head %d; heads count from 0", o.Heads.Head)
	// Each position is another token of the text, and a text has at most as many tokens as bytes, a
	// few control tokens apart.
	case len(o.Positions) > maxTextBytes:
		return usagef("%d positions; at most %d", len(o.Positions), maxTextBytes)
	}
	for _, p := range o.Positions {
		if p < 0 {
			return usagef("position %d; positions count from 0", p)
		}
	}
	return nil
}

// alternatives returns how many alternatives each token carries.
func (o Options) alternatives() int {
	if o.Alternatives == 0 {
		return defaultAlternatives
	}
	return o.Alternatives
}

// checkContinuation returns a usage error for options that a continuation leaves nothing to do.
func (o Options) checkContinuation() error {
	switch {
	case o.Continuation == "":
	case o.MaxTokens > 0:
		return usagef("max tokens %d and a continuation; every token of a continuation is explained, "+
			"and no other is generated: give one of the two", o.MaxTokens)
	case o.Sampling != (trace.Sampling{}):
		return usagef("sampling and a continuation; a continuation says which tokens come, " +
			"and none is drawn: give one of the two")
	}
	return nil
}

// checkSampling returns a usage error for settings that are out of range or do nothing.
func checkSampling(s trace.Sampling) error {
	if !(s.Temperature >= 0 && s.Temperature <= maxTemperature) {
		return usagef("temperature %v; it must be in [0,%d], 0 for the most probable token", s.Temperature, maxTemperature)
	}
	if s.TopK < 0 || s.TopK > maxTopK {
		return usagef("top-k %d; it must be in [1,%d], or 0 for all", s.TopK, maxTopK)
	}
	if !(s.TopP >= 0 && s.TopP <= 1) {
		return usagef("top-p %v; it must be in [0,1], 0 for all", s.TopP)
	}
	if s.Temperature > 0 {
		return nil
	}
	const greedy = "it does nothing without a temperature above 0: the most probable token is taken and none is drawn"
	switch {
	case s.TopK > 0:
		return usagef("top-k %d; %s", s.TopK, greedy)
	case s.TopP > 0:
		return usagef("top-p %v; %s", s.TopP, greedy)
	case s.Seed > 0:
		return usagef("seed %d; %s", s.Seed, greedy)
	}
	return nil
}

// checkMethods checks the options of methods as far as the model does not matter.
func (o Options) checkMethods() error {
	if o.Residual != nil && !(*o.Residual >= 0 && *o.Residual <= 1) {
		return usagef("residual %v; it must be in [0,1]", *o.Residual)
	}
	if !(o.Threshold >= 0 && o.Threshold <= maxThreshold) {
		return usagef("threshold %v; it must be in [0,%d], 0 for none", o.Threshold, int(maxThreshold))
	}
	if o.Heads.Fusion < trace.MeanHeads || o.Heads.Fusion > trace.OneHead {
		return usagef("heads %v; a method needs one matrix a layer: mean, max, min or a head's number", o.Heads)
	}
	if o.PerHead != nil && o.Heads != (trace.Heads{}) {
		return usagef("per-head %d and heads %v; one head is looked at over lower layers merged by their mean, "+
			"so give one of the two", *o.PerHead, o.Heads)
	}
	if !(o.Discard >= 0 && o.Discard < 1) {
		return usagef("discard %v; it must be in [0,1), the part of the entries that are set to 0", o.Discard)
	}
	if o.DiscardWhole && o.Discard == 0 {
		return usagef("discard whole without discard; say which part of the entries is set to 0")
	}
	if o.MeasuredResidual && o.Residual != nil {
		return usagef("residual %v and a measured residual; give one of the two", *o.Residual)
	}
	return o.checkLift()
}

// checkLift checks what goes with lift.
func (o Options) checkLift() error {
	switch {
	case !o.Lift:
	case o.Residual != nil && *o.Residual == 1:
		return usagef("lift with residual 1; no attention is left to compare with uniform attention")
	case o.MeasuredResidual:
		return usagef("lift with a measured residual; uniform attention has none to be measured")
	case o.Discard > 0:
		return usagef("lift with discard %v; uniform attention has no lowest entries", o.Discard)
	}
	return nil
}

// checkHeads returns a usage error if a head is none of H.
func (o Options) checkHeads(heads int) error {
	if o.Heads.Fusion == trace.OneHead && (o.Heads.Head < 0 || o.Heads.Head >= heads) {
		return usagef("head %d; there are %d, from 0 to %d", o.Heads.Head, heads, heads-1)
	}
	if o.PerHead != nil && (*o.PerHead < 0 || *o.PerHead >= heads) {
		return usagef("per-head %d; there are %d heads, from 0 to %d", *o.PerHead, heads, heads-1)
	}
	return nil
}

// layerRange returns the first and last layer asked for, of L.
func (o Options) layerRange(layers int) (first, last int, err error) {
	first, last = o.FirstLayer, layers-1
	if o.LastLayer != nil {
		last = *o.LastLayer
	}
	if first < 0 || last >= layers || first > last {
		return 0, 0, usagef("layers %d to %d; there are %d, from 0 to %d, and the first comes first",
			first, last, layers, layers-1)
	}
	return first, last, nil
}

// methods returns the methods asked for, each once and in order.
func (o Options) methods() ([]Method, error) {
	names := o.Methods
	if len(names) == 0 {
		names = DefaultMethods()
	}
	var all []Method
	seen := map[string]bool{}
	for _, name := range names {
		m, err := LookupMethod(name)
		if err != nil {
			return nil, err
		}
		if !seen[m.Name] {
			seen[m.Name] = true
			all = append(all, m)
		}
	}
	return all, nil
}

// settings returns what made the numbers of a method, by name.
func (o Options) settings(m planned, first, last int) map[string]string {
	if m.scorer != nil {
		return o.scoredSettings(m)
	}
	s := map[string]string{
		"mixing":      m.Mixing,
		"aggregation": m.Aggregation,
		"layers":      fmt.Sprintf("%d-%d", first, last),
		"residual":    fmt.Sprint(m.job.rule.residual),
	}
	if m.mixing.IncludesResidual {
		s["residual"] = "in the mixing"
	}
	if m.job.rule.measured {
		s["residual"] = "measured"
	}
	if o.DropSink {
		s["sink"] = "first source taken out"
	}
	if o.Discard > 0 {
		s["discard"] = fmt.Sprint(o.Discard)
	}
	if o.DiscardWhole {
		s["discard"] += " of the whole map"
	}
	if m.job.rule.local {
		s["local lift"] = "rows divided by uniform attention before the residual"
	}
	if m.mixing.takes(o.Heads) {
		s["heads"] = o.Heads.String()
	}
	if o.PerHead != nil && m.mixing.takes(trace.Heads{Fusion: trace.OneHead}) {
		s["per_head"] = fmt.Sprint(*o.PerHead)
	}
	if m.mixing.Distance && o.Threshold > 0 {
		s["threshold"] = fmt.Sprint(o.Threshold)
	}
	if m.Normalize {
		s["normalize"] = "rows divided by their sum"
	}
	if m.lift {
		s["lift"] = "divided by uniform attention"
	}
	return s
}
