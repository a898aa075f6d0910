// Package spec describes the architecture of a transformer as data: sizes, the order of norms, how
// positions enter, which projections have biases. A family fills a [Spec] from a config.json, and
// the one graph in package transformer computes it. Nothing here computes.
//
//	s := &spec.Spec{
//		Family: "toy", Layers: 2, Heads: 4, Width: 32, HeadWidth: 8, FeedForward: 128,
//		Vocab: 100, Context: 64, NormEpsilon: 1e-5, TiedHead: true, BOS: -1,
//	}
//	if err := s.Check(); err != nil {
//		return err
//	}
//	for _, p := range s.Params() {
//		fmt.Println(p.Name, p.Shape) // embedding [100 32], positions [64 32], …
//	}
//
// # Parts
//
//   - [Spec] has one field for each way in which the supported architectures differ, named for what
//     it does and not for the family that needs it. Its zero value is a plain decoder without
//     sizes.
//   - [Spec.Check] compares the fields with each other and with limits. [MaxSize] is the limit of
//     one size, which a family needs for its own messages.
//   - [Spec.Params] lists the arrays of weights with their names and shapes. A [Loader] reads one
//     of them, from a checkpoint or from anywhere else.
//   - [Mixture] is a feed-forward part of several experts.
//   - [Rotary], [RotaryFrequencies] and [AlibiSlopes] are the numbers of the position schemes.
//
// # Shapes
//
// Capital letters are sizes: V vocabulary, C context, W width of the embedding, D width of the
// residual stream, L layers, H heads, G heads with keys and values, E width of a head, F width of
// the feed-forward part, X experts, K classes. Two letters side by side are their product: HE is
// H·E. A shape is written outermost axis first and stored row-major. Layers, heads and positions
// count from 0.
//
// # Errors
//
// A [*SpecError] means that a spec contradicts itself or exceeds a limit. It names the fields, so
// that package family can name the keys of config.json that are wrong. Two functions panic, because
// no file can cause it: [MaxSize] for an unknown field, and [AlibiSlopes] without heads.
//
// # What belongs here
//
// A new quirk of an architecture is a new field here, whose zero value keeps all other models as
// they are, and a few lines in package transformer that read it. A quirk that only renames or
// rearranges weights belongs to package family.
package spec

import "slices"

// Positions is how a model knows the order of its tokens.
type Positions int

// The position schemes.
const (
	LearnedPositions Positions = iota // a table added to the embedding (GPT-2, OPT, BERT)
	ALiBi                             // a bias slope·j on the scores of source j (BLOOM, Falcon-RW)
	RotaryPositions                   // queries and keys turned by position (Llama, Gemma)
	NoPositions                       // none but what [Spec.Relative] adds to scores (DeBERTa)
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
	ReLUSquared                         // max(x,0)² (Nemotron)
	QuickGELU                           // x σ(1.702 x)
	ClippedGELU                         // a GELU of at most 10
	Mish                                // x tanh log(1 + exp x)
	HardSwish                           // x min(max(x+3,0),6)/6
	LeakyReLU                           // x above 0, x/100 below
	ReLU6                               // min(max(x,0),6)
	Identity                            // x
	XIELU                               // a square above 0, with two weights (Apertus)
)

// Order is where a block applies its norms N around attention a and feed-forward part m.
type Order int

// The orders.
const (
	PreNorm  Order = iota // z = x + a(N x),  x̃ = z + m(N z) (GPT-2, Llama)
	PostNorm              // z = N(x + a(x)),  x̃ = N(z + m(z)) (BERT, OPT-350m)
	Parallel              // x̃ = x + a(N x) + m(N x), with one norm or two (GPT-NeoX, Falcon-7B)
)

// Head is what follows the last block.
type Head int

// The heads.
const (
	LanguageHead   Head = iota // a score per word of the vocabulary, for the next or masked token
	ClassifierHead             // a score per class of the whole text, read at [Spec.ReadsAt]
	TokenHead                  // a score per class of each token
	SpanHead                   // each token's scores as the start and as the end of an answer
	NoHead                     // none: the model ends with its hidden state
)

// Scoring is what the scores of a classifier mean.
type Scoring int

// The meanings.
const (
	OneOf    Scoring = iota // one class applies: its probability is the softmax of the scores
	AnyOf                   // each class applies or not: its probability is a sigmoid
	Quantity                // each score is a number of its own, as in a regression
)

// Stack is which tokens a layer works on in a model of two stacks. The text of such a model is the
// tokens of the source followed by those of the target; a layer leaves the stream of all other
// tokens as it is.
type Stack int

// The stacks.
const (
	OneStack Stack = iota // all tokens: the model has one stack
	Encoding              // those of the source, which see each other
	Decoding              // those of the target, which see the target up to themselves
	Crossing              // those of the target, which see the source as the encoder leaves it
)

// Spec describes the architecture of a transformer completely: the graph follows it and never asks
// for the family. Sizes are those of the shape legend in the package comment. Unless a field says
// otherwise, its zero value is the plain case.
type Spec struct {
	Family string // name of the architecture, for messages only
	// Remarks are what was noticed while the files were read and changes no number, one sentence
	// each. Nothing computes with them.
	Remarks []string

	Layers, Heads, Width, HeadWidth, FeedForward, Vocab int
	// Mixture, if not nil, replaces the feed-forward part by several experts.
	Mixture *Mixture
	// KeyValueHeads is G, the number of heads with keys and values. It divides Heads, and each of
	// them serves Heads/G queries. 0 means Heads.
	KeyValueHeads int
	// Latent, if not nil, is how queries, keys and values are projected (DeepSeek).
	Latent *Latent

	// Encoder, if above 0, makes a model of two stacks, and is how many of the layers, from the
	// first on, are those of the encoder. Every block of the decoder is two of the layers after
	// them: its attention to the target, without a feed-forward part, and its attention to the
	// source with the feed-forward part. See [Spec.Stack].
	Encoder int
	// SourceVocab, if above 0, is how many tokens the source has of its own in a model of two
	// stacks (Marian with separate vocabularies). Vocab is then what the target has, and the ids of
	// the source's tokens follow the target's: they are from Vocab to Vocab+SourceVocab-1.
	SourceVocab int
	// TargetStart is the id with which the target of a model of two stacks begins. In a text that
	// token is [Spec.Boundary].
	TargetStart int
	// TargetFirst are the ids that every generated target has next, before the first that the model
	// chooses (forced_bos_token_id: BART, mBART).
	TargetFirst []int
	// EncoderFeedForward is the width of the feed-forward parts of the encoder, where it is not
	// FeedForward; 0 means FeedForward.
	EncoderFeedForward int
	// MemoryNorm adds a norm after the last layer of the encoder (T5, mBART).
	MemoryNorm bool

	// Bidirectional lets every token see every other token (encoders).
	Bidirectional bool
	// Context is the largest number of tokens; 0 where the position scheme sets no limit.
	Context   int
	Positions Positions
	// PositionOffset is how many rows the position table has before the row of position 0 (OPT and
	// RoBERTa have 2).
	PositionOffset int
	// PositionRows and TargetPositionRows are how many rows the tables of positions of two stacks
	// have; 0 means Context and PositionOffset together (LED has more).
	PositionRows, TargetPositionRows int
	// SkipPosition reports whether tokens with the id SkipID take no position: they get the row
	// before that of position 0 (RoBERTa's padding token, wherever it occurs, and that of M2M100 in
	// the source).
	SkipPosition bool
	SkipID       int
	// AlibiSlopes is [H], used with ALiBi: the score of source j gets AlibiSlopes[h]·j.
	AlibiSlopes []float32
	// AlibiRounded rounds slope·j to bfloat16; AlibiScaled divides it by √E, as the content is
	// (Falcon-RW).
	AlibiRounded, AlibiScaled bool
	// Rotary is used with RotaryPositions. If LocalRotary is not nil, it replaces Rotary in layers
	// with a window (Gemma 3).
	Rotary, LocalRotary *Rotary
	// Unturned is [L] or nil: whether no position turns the queries and keys of a layer (SmolLM3).
	Unturned []bool
	// Windows is [L] or nil. A target of layer l sees the last Windows[l] tokens, itself included;
	// 0 means all (Mistral, Gemma). In an encoder it sees as many on the other side (ModernBERT).
	Windows []int

	// RelativeBuckets, if above 0, adds a bias to the scores of each head that depends on how far
	// apart source and target are: half of the buckets are for sources before the target, and in a
	// decoder all. Half of those on a side have one distance each, the others grow up to
	// RelativeDistance (MPNet, T5).
	RelativeBuckets, RelativeDistance int

	// Relative, if not nil, adds products with embeddings of distances to the scores (DeBERTa).
	Relative *Relative

	// TokenTypes is how many rows the table of token types has; 0 means no table. Every token has
	// type 0 unless a batch says otherwise (BERT).
	TokenTypes int
	// EmbeddingWidth is the width W of the embedding, where it is not Width and a projection
	// follows; 0 means Width.
	EmbeddingWidth int
	// ProjectTokens puts that projection, without bias, before the positions are added, and
	// another one back to W after the last norm (OPT-350m). Otherwise the projection follows the
	// norm of the embedding and has a bias (ELECTRA).
	ProjectTokens bool
	// EmbeddingScale multiplies the embedding (Gemma: √D); 0 means 1.
	EmbeddingScale float64
	// EmbeddingNorm adds a norm after the embedding (BLOOM, BERT).
	EmbeddingNorm bool

	Order Order
	// SharedNorm uses one norm for attention and feed-forward in the parallel order (Falcon-7B).
	SharedNorm bool
	// RMS makes norms divide by the root mean square, without mean and bias (Llama).
	RMS bool
	// NoNormBias and NoNormGain leave out the bias (Cohere) and the gain (OLMo) of norms with a
	// mean.
	NoNormBias, NoNormGain bool
	// NormOffset is added to the gain of every norm (Gemma: 1).
	NormOffset float64
	// NormAfter adds norms after attention and after feed-forward, before the residual is added
	// (Gemma). NoNormBefore leaves out those before both parts (OLMo 2).
	NormAfter, NoNormBefore bool
	// ResidualScale multiplies what both parts add to the residual, in the pre-norm order; 0 means
	// 1 (Granite).
	ResidualScale float64
	// NormedResidual makes the norm's output the residual, in the pre-norm order:
	// z = N x + a(N x), x̃ = N z + m(N z) (some BLOOM configurations).
	NormedResidual bool
	// NormEpsilon is added to the variance; it is in (0,1).
	NormEpsilon float64
	// QueryKeyNorm adds norms without bias over E to queries and keys (Qwen3, Gemma 3).
	QueryKeyNorm bool
	// JointQueryKeyNorm normalises all heads together (OLMo 2). QueryKeyGains gives each head gains
	// of its own (Cohere, StableLM 2 12B).
	JointQueryKeyNorm, QueryKeyGains bool
	// NoFinalNorm leaves out the norm after the last block (encoders, OPT-350m).
	NoFinalNorm bool
	// NoFirstNorm leaves out the norm before the attention of layer 0 (ModernBERT).
	NoFirstNorm bool

	Activation Activation
	// Gated multiplies the activation of one projection by another projection:
	// m(x) = down(f(gate x) · up x) (Llama).
	Gated bool
	// SwishScale a makes a gate of SiLU x σ(a·x); 0 means 1. InnerLimit c limits gate x to at most
	// c and up x to -c..c; 0 means no limit. UpOffset is added to up x after that. All three are
	// for GPT-OSS: m(x) = down(f(gate x) · (up x + 1)).
	SwishScale, InnerLimit, UpOffset float64
	// ProjectionBias, OutputBias and MLPBias report whether there are biases on query, key and
	// value, on the output projection, and in the feed-forward part.
	ProjectionBias, OutputBias, MLPBias bool
	// ProjectionClip limits queries, keys and values to -c..c before norms and turns; 0 means no
	// limit (some OLMo and MPT models).
	ProjectionClip float64
	// ScoreScale multiplies q·k; 0 means 1/√E (Gemma sets its own).
	ScoreScale float64
	// Sinks gives each head a score of its own, which takes part in the softmax beside those of the
	// sources: rows of attention then sum to less than 1 (GPT-OSS).
	Sinks bool
	// ScoreByLayer also divides q·k by l+1 in layer l (some GPT-2 models).
	ScoreByLayer bool
	// ScoreCap c replaces a score by c·tanh(score/c), LogitCap does so for logits; 0 means no cap
	// (Gemma 2).
	ScoreCap, LogitCap float64
	// LogitScale multiplies logits, before a bias and the cap; 0 means 1 (Cohere).
	LogitScale float64

	Head Head
	// TiedHead uses the embedding as output projection; HeadBias adds a bias over the vocabulary or
	// the classes.
	TiedHead, HeadBias bool
	// HeadTransform adds a dense layer, HeadActivation and a norm before the output projection
	// (BERT's masked language model). HeadDenseUnbiased leaves out the bias of that layer.
	HeadTransform, HeadDenseUnbiased bool
	// Classes is how many classes a ClassifierHead or TokenHead scores, 2 in a SpanHead. A
	// TokenHead with one class and the scoring AnyOf scores the second of two (ELECTRA's
	// discriminator).
	Classes int
	// Scoring is what the scores of classes mean.
	Scoring Scoring
	// MeanPooled makes an encoder's ClassifierHead read the mean of all tokens after the final norm
	// (ModernBERT).
	MeanPooled bool
	// Padding are the ids of padding tokens, at which a decoder's ClassifierHead does not read.
	Padding []int
	// Labels are the names of the classes; they may be missing.
	Labels []string
	// ClassifierDense adds a dense layer with HeadActivation before the classes.
	ClassifierDense bool
	HeadActivation  Activation

	// BOS is the id that begins a text, -1 if there is none. EOS are the ids that end one.
	BOS int
	EOS []int
}

// Groups returns G, the number of heads that have keys and values.
func (s *Spec) Groups() int {
	if s.KeyValueHeads == 0 {
		return s.Heads
	}
	return s.KeyValueHeads
}

// ValueWidth returns how many components a value has in each head: E, unless [Spec.Latent] has
// another number.
func (s *Spec) ValueWidth() int {
	if s.Latent == nil {
		return s.HeadWidth
	}
	return s.Latent.Values
}

// CacheWidth returns how many numbers the key and the value of a token have in a layer.
func (s *Spec) CacheWidth() int { return s.Groups() * (s.HeadWidth + s.ValueWidth()) }

// Stack returns which tokens layer l works on.
func (s *Spec) Stack(l int) Stack {
	switch {
	case s.Encoder == 0:
		return OneStack
	case l < s.Encoder:
		return Encoding
	case (l-s.Encoder)%2 == 0:
		return Decoding
	}
	return Crossing
}

// Boundary returns the id of the token that parts source and target in a text of a model of two
// stacks, the first of the target. It is the only one outside the vocabulary.
func (s *Spec) Boundary() int { return s.Vocab + s.SourceVocab }

// Takes reports whether a text may have an id on one side of the boundary.
func (s *Spec) Takes(id int, inSource bool) bool {
	if inSource && s.SourceVocab > 0 {
		return s.Vocab <= id && id < s.Boundary()
	}
	return 0 <= id && id < s.Vocab
}

// Causal reports whether no token sees one after it.
func (s *Spec) Causal() bool { return !s.Bidirectional && s.Encoder == 0 }

// Embedded returns W, the width of the embedding.
func (s *Spec) Embedded() int {
	if s.EmbeddingWidth == 0 {
		return s.Width
	}
	return s.EmbeddingWidth
}

// Classifies reports whether the head scores classes and not the vocabulary.
func (s *Spec) Classifies() bool {
	return s.Head == ClassifierHead || s.Head == TokenHead || s.Head == SpanHead
}

// Discriminates reports whether the one score of each token is that of the second of two classes.
func (s *Spec) Discriminates() bool {
	return s.Head == TokenHead && s.Classes == 1 && s.Scoring == AnyOf
}

// ReadsAt returns the position at which a ClassifierHead reads a text, unless it is MeanPooled: the
// first token in an encoder, and the last one that is not padding in a decoder, where only the last
// tokens see the whole text. A text of padding alone is read at its first token.
func (s *Spec) ReadsAt(ids []int) int {
	if !s.Bidirectional {
		for at := len(ids) - 1; at > 0; at-- {
			if !slices.Contains(s.Padding, ids[at]) {
				return at
			}
		}
	}
	return 0
}

// ProjectsOut reports whether a projection back to the width of the embedding follows the final
// norm (OPT-350m).
func (s *Spec) ProjectsOut() bool {
	return s.Embedded() != s.Width && s.ProjectTokens
}

// Window returns how many tokens a target of layer l sees, 0 for all.
func (s *Spec) Window(l int) int {
	if s.Windows == nil {
		return 0
	}
	return s.Windows[l]
}

// HasNorm reports whether layer l has the norm of that name, as in [Spec.Params].
func (s *Spec) HasNorm(l int, name string) bool {
	switch name {
	case "memory-norm":
		return s.MemoryNorm && s.Stack(l) == Crossing
	case "mlp-norm", "mlp-after-norm":
		if s.Stack(l) == Decoding {
			return false
		}
	}
	switch name {
	case "attention-norm":
		return !s.NoNormBefore && !(s.NoFirstNorm && l == 0)
	case "mlp-norm":
		return !s.NoNormBefore && !s.SharedNorm
	case "attention-after-norm", "mlp-after-norm":
		return s.NormAfter
	}
	return true
}

// NormBias reports whether norms have a bias.
func (s *Spec) NormBias() bool { return !s.RMS && !s.NoNormBias }

// RotaryOf returns how layer l turns queries and keys, nil if it does not.
func (s *Spec) RotaryOf(l int) *Rotary {
	switch {
	case s.Positions != RotaryPositions, s.Unturned != nil && s.Unturned[l]:
		return nil
	case s.LocalRotary != nil && s.Window(l) > 0:
		return s.LocalRotary
	}
	return s.Rotary
}
