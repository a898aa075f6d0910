package spec

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Limits of what a configuration file may ask for: far above every known model, and far below what
// would overflow or fill the memory.
const (
	// MaxScale is the upper limit of every factor of a [Spec]; float32 does not overflow at once.
	MaxScale = 1e6

	maxLayers  = 1024
	maxHeads   = 1 << 12
	maxWidth   = 1 << 17
	maxVocab   = 1 << 24
	maxExperts = 1 << 12
	maxClasses = 1 << 16
)

// SpecError names the fields of a [Spec] that contradict each other or a limit; [Spec.Check]
// returns it.
type SpecError struct {
	// Family is the family of the spec.
	Family string
	// Fields are the names of the fields; look at the first one first.
	Fields []string
	// Problem names the value and the limit, without the family.
	Problem string
}

// Error returns the family and the problem.
func (e *SpecError) Error() string { return "spec: " + e.Family + ": " + e.Problem }

// wrong returns a SpecError about fields, whose names are separated by spaces. The first is the one
// to look at first; the others are what it is compared with, because a reader may want to change
// either.
func (s *Spec) wrong(fields, format string, args ...any) error {
	return &SpecError{Family: s.Family, Fields: strings.Fields(fields), Problem: fmt.Sprintf(format,
		args...)}
}

// sizes are the sizes of a spec and their limits. A size that must be there has the minimum 1; one
// that an architecture may lack has 0.
var sizes = []struct {
	field, name string
	min, max    int
	of          func(s *Spec) int
}{
	{"Layers", "layers", 1, maxLayers, func(s *Spec) int { return s.Layers }},
	{"Heads", "heads", 1, maxHeads, func(s *Spec) int { return s.Heads }},
	{"Width", "width", 1, maxWidth, func(s *Spec) int { return s.Width }},
	{"HeadWidth", "head width", 1, maxWidth, func(s *Spec) int { return s.HeadWidth }},
	{
		"FeedForward", "feed-forward width", 1, 8 * maxWidth,
		func(s *Spec) int { return s.FeedForward },
	},
	{
		"EncoderFeedForward", "feed-forward width of the encoder", 0, 8 * maxWidth,
		func(s *Spec) int { return s.EncoderFeedForward },
	},
	{"Vocab", "vocabulary", 1, maxVocab, func(s *Spec) int { return s.Vocab }},
	{
		"SourceVocab", "vocabulary of the source", 0, maxVocab,
		func(s *Spec) int { return s.SourceVocab },
	},
	{
		"KeyValueHeads", "key and value heads", 0, maxHeads,
		func(s *Spec) int { return s.KeyValueHeads },
	},
	{
		"EmbeddingWidth", "embedding width", 0, maxWidth,
		func(s *Spec) int { return s.EmbeddingWidth },
	},
	{"Context", "context", 0, maxVocab, func(s *Spec) int { return s.Context }},
	{
		"PositionOffset", "position offset", 0, maxVocab,
		func(s *Spec) int { return s.PositionOffset },
	},
	{
		"RelativeBuckets", "buckets of distances", 0, maxClasses,
		func(s *Spec) int { return s.RelativeBuckets },
	},
	{"TokenTypes", "token types", 0, maxVocab, func(s *Spec) int { return s.TokenTypes }},
	{"Classes", "classes", 0, maxClasses, func(s *Spec) int { return s.Classes }},
	{"Experts", "experts", 0, maxExperts, func(s *Spec) int { return s.mixture().Experts }},
	{
		"Chosen", "experts for each token", 0, maxExperts,
		func(s *Spec) int { return s.mixture().Chosen },
	},
	{
		"ExpertWidth", "feed-forward width of an expert", 0, 8 * maxWidth,
		func(s *Spec) int { return s.mixture().Width },
	},
	{
		"SharedWidth", "feed-forward width of the shared expert", 0, 8 * maxWidth,
		func(s *Spec) int { return s.mixture().Shared },
	},
}

// MaxSize returns the upper limit of a size of a [Spec], by the name of its field: Layers, Heads,
// Width, HeadWidth, FeedForward, Vocab, KeyValueHeads, EmbeddingWidth, Context, PositionOffset,
// TokenTypes or Classes; or of a mixture: Experts, Chosen, ExpertWidth or SharedWidth. It panics
// for any other name.
func MaxSize(field string) int {
	for _, size := range sizes {
		if size.field == field {
			return size.max
		}
	}
	panic("spec: " + field + " is not a size of a Spec")
}

// Check returns a [*SpecError] if fields contradict each other or a limit. It looks at sizes first:
// the other checks divide by them and compare with them.
func (s *Spec) Check() error {
	for _, size := range sizes {
		if v := size.of(s); v < size.min || v > size.max {
			return s.wrong(size.field, "%s %d is not in %d..%d", size.name, v, size.min, size.max)
		}
	}
	// Both are within their limits, but HE is the width of a matrix too.
	if inner := s.Heads * max(s.HeadWidth, s.ValueWidth()); inner > 8*maxWidth {
		return s.wrong("Heads HeadWidth Width", "heads × head width %d is not in %d..%d", inner, 1,
			8*maxWidth)
	}
	for _, check := range []func() error{
		s.checkKinds, s.checkHeads, s.checkStacks, s.checkLatent, s.checkMixture, s.checkPositions,
		s.checkNumbers,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	for i, id := range append([]int{s.BOS}, s.EOS...) {
		if id < -1 || id >= s.Vocab {
			field := "EOS"
			if i == 0 {
				field = "BOS"
			}
			return s.wrong(field+" Vocab", "special token id %d is outside the vocabulary of %d",
				id, s.Vocab)
		}
	}
	return nil
}

// checkKinds checks that every kind is one of those that this package names.
func (s *Spec) checkKinds() error {
	for _, v := range []struct {
		field, name string
		value, last int
	}{
		{"Positions", "positions", int(s.Positions), int(NoPositions)},
		{"Order", "order", int(s.Order), int(Parallel)},
		{"Activation", "activation", int(s.Activation), int(XIELU)},
		{"HeadActivation", "head activation", int(s.HeadActivation), int(Identity)},
		{"Head", "head", int(s.Head), int(NoHead)},
		{"Scoring", "scoring", int(s.Scoring), int(Quantity)},
	} {
		if v.value < 0 || v.value > v.last {
			return s.wrong(v.field, "%s %d is not in 0..%d", v.name, v.value, v.last)
		}
	}
	return nil
}

// checkHeads checks that G divides H, so that each head has one group of keys and values, and that
// a classifier has classes.
func (s *Spec) checkHeads() error {
	if s.Heads%s.Groups() != 0 {
		return s.wrong("KeyValueHeads Heads", "%d key and value heads do not divide %d heads",
			s.Groups(), s.Heads)
	}
	if s.Classifies() && s.Classes == 0 {
		return s.wrong("Classes", "a classifier needs at least 1 class")
	}
	if s.Head == SpanHead && s.Classes != 2 {
		return s.wrong("Classes", "the head of a question answering model has %d scores for each "+
			"token; it needs 2, start and end", s.Classes)
	}
	return nil
}

// checkStacks checks that what two stacks do not have is not asked for.
func (s *Spec) checkStacks() error {
	switch {
	case s.Encoder == 0 && s.EncoderFeedForward > 0:
		return s.wrong("EncoderFeedForward", "one stack has no encoder with a width of its own")
	case s.Encoder == 0 && s.SourceVocab > 0:
		return s.wrong("SourceVocab", "one stack has no source with a vocabulary of its own")
	case s.Encoder == 0:
		return nil
	case s.Encoder < 0 || s.Encoder >= s.Layers || (s.Layers-s.Encoder)%2 != 0:
		return s.wrong("Layers Encoder", "%d of %d layers are the encoder; the decoder needs 2 "+
			"for each of its blocks", s.Encoder, s.Layers)
	case s.TargetStart < 0 || s.TargetStart >= s.Vocab:
		return s.wrong("TargetStart Vocab", "the target starts with id %d, outside the vocabulary "+
			"of %d", s.TargetStart, s.Vocab)
	case slices.ContainsFunc(s.TargetFirst, func(id int) bool { return id < 0 || id >= s.Vocab }):
		return s.wrong("TargetFirst Vocab", "the target begins with ids %v; they must be in the "+
			"vocabulary of %d", s.TargetFirst, s.Vocab)
	case s.Bidirectional || s.Head != LanguageHead && s.Head != NoHead:
		return s.wrong("Encoder Head", "a model of two stacks generates a target")
	case s.Order == Parallel || s.NormedResidual || s.NormAfter || s.Windows != nil ||
		s.Latent != nil || s.Relative != nil || s.Sinks || s.TokenTypes > 0 ||
		s.Positions == ALiBi || s.Positions == RotaryPositions:
		return s.wrong("Encoder", "two stacks with parallel parts, windows, token types "+
			"or positions other than tables and distances are not supported")
	}
	return nil
}

// checkPositions checks that the position scheme has the numbers that it needs: a table of
// positions has a row for each of the context, ALiBi a slope for each head, and a rotary embedding
// its frequencies.
func (s *Spec) checkPositions() error {
	if s.Windows != nil && len(s.Windows) != s.Layers {
		return s.wrong("Windows Layers", "windows of %d layers for %d", len(s.Windows), s.Layers)
	}
	if n := s.RelativeBuckets; n > 0 && (n < 4 || s.RelativeDistance <= n/2) {
		return s.wrong("RelativeBuckets RelativeDistance", "%d buckets for distances up to %d; "+
			"there must be 4 at least, and a distance above half their number", n,
			s.RelativeDistance)
	}
	if problem := s.Relative.check(s); problem != "" {
		return s.wrong("Relative", "%s", problem)
	}
	if s.Unturned != nil && len(s.Unturned) != s.Layers {
		return s.wrong("Unturned Layers", "%d unturned layers of %d", len(s.Unturned), s.Layers)
	}
	for l, w := range s.Windows {
		if w < 0 {
			return s.wrong("Windows", "window %d of layer %d is negative", w, l)
		}
	}
	switch s.Positions {
	case LearnedPositions:
		if s.Context == 0 {
			return s.wrong("Context", "learned positions need a context of at least 1")
		}
		for _, n := range []int{s.PositionRows, s.TargetPositionRows} {
			if n != 0 && (s.Encoder == 0 || n < s.Context+s.PositionOffset || n > maxVocab) {
				return s.wrong("Context", "a table of %d positions for texts of %d", n, s.Context)
			}
		}
	case ALiBi:
		if len(s.AlibiSlopes) != s.Heads {
			return s.wrong("AlibiSlopes Heads", "%d ALiBi slopes for %d heads", len(s.AlibiSlopes),
				s.Heads)
		}
	case RotaryPositions:
		if s.Rotary == nil {
			return s.wrong("Rotary", "rotary positions need frequencies")
		}
		if problem := s.Rotary.check(s); problem != "" {
			return s.wrong("Rotary HeadWidth", "%s", problem)
		}
		if problem := s.LocalRotary.check(s); problem != "" {
			return s.wrong("LocalRotary HeadWidth", "%s", problem)
		}
	}
	return nil
}

// checkNumbers checks the factors. Comparisons are negated, so that they also refuse NaN, for which
// every comparison is false.
func (s *Spec) checkNumbers() error {
	if !(s.NormEpsilon > 0 && s.NormEpsilon < 1) {
		return s.wrong("NormEpsilon", "norm epsilon %v is not in (0,1)", s.NormEpsilon)
	}
	for _, v := range []struct {
		field, name string
		value       float64
	}{
		{"EmbeddingScale", "embedding scale", s.EmbeddingScale},
		{"ScoreScale", "score scale", s.ScoreScale},
		{"ScoreCap", "score cap", s.ScoreCap},
		{"LogitCap", "logit cap", s.LogitCap},
		{"LogitScale", "logit scale", s.LogitScale},
		{"ProjectionClip", "limit of queries, keys and values", s.ProjectionClip},
		{"ResidualScale", "residual scale", s.ResidualScale},
		{"SwishScale", "scale of the activation", s.SwishScale},
		{"InnerLimit", "limit of the feed-forward part", s.InnerLimit},
		{"UpOffset", "offset of the feed-forward part", s.UpOffset},
	} {
		if !(v.value >= 0 && v.value <= MaxScale) {
			return s.wrong(v.field, "%s %v is not in 0..%g", v.name, v.value, float64(MaxScale))
		}
	}
	if s.ProjectionClip > 0 && s.ProjectionBias {
		return s.wrong("ProjectionClip", "a limit of projections with biases is not supported")
	}
	if !(math.Abs(s.NormOffset) <= MaxScale) {
		return s.wrong("NormOffset", "norm offset %v is not in -%g..%g", s.NormOffset,
			float64(MaxScale), float64(MaxScale))
	}
	return nil
}
