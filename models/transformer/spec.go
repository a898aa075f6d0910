package transformer

import (
	"fmt"
	"strings"
)

// Positions is how a model knows the order of its tokens.
type Positions int

// The position schemes.
const (
	LearnedPositions Positions = iota // a table added to the embedding (GPT-2, OPT, BERT)
	ALiBi                             // a bias slope·j on the scores of source j (BLOOM, Falcon-RW)
	RotaryPositions                   // queries and keys turned by their position (Llama, GPT-NeoX, Gemma)
)

// Activation is the non-linearity of the feed-forward part or of a head.
type Activation int

// The activations.
const (
	GELU              Activation = iota // x Φ(x), by the error function (Falcon, BERT)
	GELUTanh                            // its tanh approximation (GPT-2, BLOOM, Gemma)
	SiLU                                // x σ(x) (Llama)
	ReLU                                // max(x,0) (OPT)
	HyperbolicTangent                   // tanh x (BERT's pooler)
)

// Order is where a block's norms stand. N is a norm, a attention, m the feed-forward part.
type Order int

// The orders.
const (
	PreNorm  Order = iota // z = x + a(N x),  x̃ = z + m(N z) (GPT-2, Llama)
	PostNorm              // z = N(x + a(x)),  x̃ = N(z + m(z)) (BERT, OPT-350m)
	Parallel              // x̃ = x + a(N x) + m(N x), with one norm or two (GPT-NeoX, Falcon-7B)
)

// Head is what stands behind the last block.
type Head int

// The heads.
const (
	LanguageHead   Head = iota // scores of the next token, or of the token itself in a masked language model
	ClassifierHead             // scores of the classes of the whole text, read at its first token
	TokenHead                  // scores of the classes of each token (ELECTRA's discriminator)
	NoHead                     // none: the model ends with its hidden state
)

// Spec describes a transformer completely; the graph follows it and never asks which family it is building. Sizes are those of
// the shape legend in the package comment. The zero value of every field is the plain case.
type Spec struct {
	Family string // architecture, for messages only

	Layers, Heads, Width, HeadWidth, FeedForward, Vocab int
	// KeyValueHeads is G, which divides Heads: that many heads have keys and values, each serving Heads/G queries. 0 is Heads.
	KeyValueHeads int

	// Bidirectional lets every token see every other (encoders).
	Bidirectional bool
	// Context is how many tokens the model can take; 0 where the position scheme sets no limit.
	Context   int
	Positions Positions
	// PositionOffset is how many rows of the position table stand before that of position 0 (OPT 2, RoBERTa 2).
	PositionOffset int
	// SkipID is an id, and SkipPosition that it takes no position of its own but the row before that of position 0: RoBERTa's
	// padding token, wherever it stands.
	SkipPosition bool
	SkipID       int
	// AlibiSlopes is [H], used with ALiBi: the score of source j gets AlibiSlopes[h]·j.
	AlibiSlopes []float32
	// AlibiRounded rounds slope·j to bfloat16, and AlibiScaled divides it by √E as the content is (Falcon-RW).
	AlibiRounded, AlibiScaled bool
	// Rotary is used with RotaryPositions; LocalRotary instead of it in layers with a window, unless it is nil (Gemma 3).
	Rotary, LocalRotary *Rotary
	// Windows is [L] or nil: layer l sees the last Windows[l] tokens, the target among them; 0 is all (Mistral, Gemma).
	Windows []int

	// TokenTypes is how many rows the table of token types has; 0: there is none. Every token is of type 0 (BERT).
	TokenTypes int
	// EmbeddingWidth is the width of the embedding's rows where it is not Width and a projection follows; 0 is Width.
	EmbeddingWidth int
	// ProjectTokens puts that projection, without bias, before the positions are added, and one back behind the last norm
	// (OPT-350m); otherwise it stands behind the embedding's norm and has a bias (ELECTRA).
	ProjectTokens bool
	// EmbeddingScale multiplies the embedding (Gemma √D); 0 is 1.
	EmbeddingScale float64
	// EmbeddingNorm puts a norm behind the embedding (BLOOM, BERT).
	EmbeddingNorm bool

	Order Order
	// SharedNorm is whether one norm serves attention and feed-forward in the parallel order (Falcon-7B).
	SharedNorm bool
	// RMS makes norms divide by the root mean square, without mean and bias (Llama). NormOffset is added to their gains (Gemma 1).
	RMS        bool
	NormOffset float64
	// NormAfter puts further norms behind attention and feed-forward, before the residual is added (Gemma).
	NormAfter bool
	// NormedResidual adds the residual behind its norm: z = N x + a(N x), x̃ = N z + m(N z) in the pre-norm order.
	NormedResidual bool
	// NormEpsilon is added to the variance.
	NormEpsilon float64
	// QueryKeyNorm puts an RMS norm over E behind the projections to query and key (Qwen3, Gemma 3).
	QueryKeyNorm bool
	// NoFinalNorm leaves out the norm behind the last block (encoders, OPT-350m).
	NoFinalNorm bool

	Activation Activation
	// Gated multiplies the activation of one projection by another: m(x) = down(f(gate x) · up x) (Llama).
	Gated bool
	// ProjectionBias, OutputBias and MLPBias are whether query, key and value, the output projection, and the feed-forward part
	// have biases.
	ProjectionBias, OutputBias, MLPBias bool
	// ScoreScale multiplies q·k; 0 is 1/√E (Gemma sets its own). ScoreByLayer also divides it by l+1 in layer l (some GPT-2s).
	ScoreScale   float64
	ScoreByLayer bool
	// ScoreCap c makes scores c·tanh(score/c), LogitCap the same of logits; 0 is none (Gemma 2).
	ScoreCap, LogitCap float64

	Head Head
	// TiedHead uses the embedding as output projection, HeadBias adds a bias over the vocabulary.
	TiedHead, HeadBias bool
	// HeadTransform puts dense, HeadActivation and norm before the output projection (BERT's masked language model).
	HeadTransform bool
	// Classes is how many a ClassifierHead or TokenHead scores, Labels their names, which may be missing. ClassifierDense puts a
	// dense layer with HeadActivation before it.
	Classes         int
	Labels          []string
	ClassifierDense bool
	HeadActivation  Activation

	// BOS and EOS are the ids that begin and end a text; BOS is -1 where there is none.
	BOS int
	EOS []int
}

// Sizes that a configuration file cannot exceed: far above every model known, far below what would overflow or fill memory.
const (
	// MaxHeads is the most heads that a layer may have.
	MaxHeads = 1 << 12

	maxLayers  = 1024
	maxWidth   = 1 << 17
	maxVocab   = 1 << 24
	maxClasses = 1 << 16
)

// Groups returns G, the number of heads that have keys and values.
func (s *Spec) Groups() int {
	if s.KeyValueHeads == 0 {
		return s.Heads
	}
	return s.KeyValueHeads
}

// Embedded returns the width of the embedding's rows.
func (s *Spec) Embedded() int {
	if s.EmbeddingWidth == 0 {
		return s.Width
	}
	return s.EmbeddingWidth
}

// projectsOut is whether a projection to the embedding's width stands behind the final norm (OPT-350m).
func (s *Spec) projectsOut() bool {
	return s.Embedded() != s.Width && s.ProjectTokens
}

// Window returns how many tokens layer l sees, 0 for all.
func (s *Spec) Window(l int) int {
	if s.Windows == nil {
		return 0
	}
	return s.Windows[l]
}

// rotary returns how layer l turns queries and keys; nil if it does not.
func (s *Spec) rotary(l int) *Rotary {
	switch {
	case s.Positions != RotaryPositions:
		return nil
	case s.LocalRotary != nil && s.Window(l) > 0:
		return s.LocalRotary
	}
	return s.Rotary
}

// SpecError says which fields of a [Spec] do not hold together. [Spec.Check] returns it.
type SpecError struct {
	// Family is that of the spec.
	Family string
	// Fields are the names of the fields, the first is the one to look at first.
	Fields []string
	// Problem is the value and the limit, without the name of the family.
	Problem string
}

// Error returns the problem with the name of the family.
func (e *SpecError) Error() string { return "transformer: " + e.Family + ": " + e.Problem }

// wrong returns a SpecError about fields, separated by blanks.
func (s *Spec) wrong(fields, format string, args ...any) error {
	return &SpecError{Family: s.Family, Fields: strings.Fields(fields), Problem: fmt.Sprintf(format,
		args...)}
}

// sizes are the sizes of a spec with the least and the most that they may be.
var sizes = []struct {
	field, name string
	min, max    int
	of          func(s *Spec) int
}{
	{"Layers", "layers", 1, maxLayers, func(s *Spec) int { return s.Layers }},
	{"Heads", "heads", 1, MaxHeads, func(s *Spec) int { return s.Heads }},
	{"Width", "width", 1, maxWidth, func(s *Spec) int { return s.Width }},
	{"HeadWidth", "head width", 1, maxWidth, func(s *Spec) int { return s.HeadWidth }},
	{
		"FeedForward", "feed-forward width", 1, 8 * maxWidth,
		func(s *Spec) int { return s.FeedForward },
	},
	{"Vocab", "vocabulary", 1, maxVocab, func(s *Spec) int { return s.Vocab }},
	{
		"KeyValueHeads", "key and value heads", 0, MaxHeads,
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
	{"TokenTypes", "token types", 0, maxVocab, func(s *Spec) int { return s.TokenTypes }},
	{"Classes", "classes", 0, maxClasses, func(s *Spec) int { return s.Classes }},
}

// MaxSize returns the most that a size of a [Spec] may be, by the name of its field: Layers, Heads,
// Width, HeadWidth, FeedForward, Vocab, KeyValueHeads, EmbeddingWidth, Context, PositionOffset,
// TokenTypes or Classes. It panics if there is no size of that name.
func MaxSize(field string) int {
	for _, size := range sizes {
		if size.field == field {
			return size.max
		}
	}
	panic("transformer: " + field + " is not a size of a Spec")
}

// Check returns a [*SpecError] if the sizes do not fit together. It names the value and the limit.
func (s *Spec) Check() error {
	for _, size := range sizes {
		if v := size.of(s); v < size.min || v > size.max {
			return s.wrong(size.field, "%s %d is not in %d..%d", size.name, v, size.min, size.max)
		}
	}
	if inner := s.Heads * s.HeadWidth; inner > 8*maxWidth {
		return s.wrong("Heads HeadWidth Width", "heads × head width %d is not in %d..%d", inner, 1,
			8*maxWidth)
	}
	for _, check := range []func() error{s.checkHeads, s.checkPositions, s.checkNumbers} {
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

func (s *Spec) checkHeads() error {
	if s.Heads%s.Groups() != 0 {
		return s.wrong("KeyValueHeads Heads", "%d key and value heads do not divide %d heads",
			s.Groups(), s.Heads)
	}
	if scored := s.Head == ClassifierHead || s.Head == TokenHead; scored && s.Classes == 0 {
		return s.wrong("Classes", "a classifier needs at least 1 class")
	}
	return nil
}

func (s *Spec) checkPositions() error {
	if s.Windows != nil && len(s.Windows) != s.Layers {
		return s.wrong("Windows Layers", "windows of %d layers for %d", len(s.Windows), s.Layers)
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
	} {
		if !(v.value >= 0 && v.value <= MaxScale) {
			return s.wrong(v.field, "%s %v is not in 0..%g", v.name, v.value, float64(MaxScale))
		}
	}
	return nil
}

// MaxScale is the most that a factor of a spec may be, so that float32 does not overflow at once.
const MaxScale = 1e6
