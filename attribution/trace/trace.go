// Package trace has the types that models and attribution share: what can be asked of a model, and
// what it records: tokens, rows of mixings, raw tensors. Both import this package, and neither the
// other.
//
// A [Model] is what both sides agree on. More that a model may do is an optional interface, found
// by type assertion: [Tracer] records tensors, [Predictor] and [Differentiable] answer scorers,
// [Replacer] has tokens that stand for a missing one, [LogitDecomposer] and [VectorDecomposer]
// split a logit into parts, [Editable] changes what a tap has, [Lens] reads its head in every
// layer, [Classifier] names classes, [Conversational] has a chat template, [Limited] knows few
// words, [Budgeted] knows how much memory is left.
//
// One pass through a model gives one [Step]: the target rows of its input tokens and the
// [Prediction] of the token after the last of them. The input of the first step is the whole prompt
// (many rows), that of each later step one token (one row). Target row t produces the prediction of
// token t+1.
//
// Capital letters are sizes: L layers, H heads, T targets, S sources, N target rows of one step, D
// width of the residual stream, E width of a head, V vocabulary, X experts of which each token
// passes K. Every shape is outermost axis first, row-major; layers, heads and positions count from
// 0.
package trace

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/headwater-ml/headwater/internal/message"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("trace")

// Token is an entry of the vocabulary at a place in a text.
type Token struct {
	// ID is the row of the embedding, 0-based.
	ID int `json:"id"`
	// Text is the text of the token in raw bytes. It may be a part of a character, so it need not
	// be valid UTF-8.
	Text string `json:"text"`
	// Begin and End are the bytes [Begin,End) of the text that was encoded, or of the text
	// generated so far. Both are 0 for a special token that the tokenizer added.
	Begin int `json:"begin"`
	End   int `json:"end"`
	// Special reports whether it is a control token such as begin-of-text, and not text.
	Special bool `json:"special,omitempty"`
	// Type is the token type, for models that are told which of two texts a token belongs to.
	Type int `json:"type,omitempty"`
}

// IDs returns the ids of tokens, [len(tokens)].
func IDs(tokens []Token) []int {
	ids := make([]int, len(tokens))
	for i, t := range tokens {
		ids[i] = t.ID
	}
	return ids
}

// Specials is whether a model's control tokens are added around a text.
type Specials int

// The values of Specials.
const (
	// SpecialsAuto does what the checkpoint's tokenizer does.
	SpecialsAuto Specials = iota
	// SpecialsOn adds begin-of-text even if the tokenizer would not. It is an error if the model
	// has none.
	SpecialsOn
	// SpecialsOff adds none.
	SpecialsOff
	// SpecialsFollow adds none to a text that follows another one, and no space before its first
	// word either, which some tokenizers put at the start of every text. See [EncodeAfter].
	SpecialsFollow
)

// SinkRemark is what a user is told where rows of attention sum to less than 1 and nothing says
// that the model has sinks; see [Info].
const SinkRemark = "What rows lack is taken for the part of sinks, which some models (GPT-OSS) " +
	"have beside their tokens; of another model the recording is incomplete."

// Info describes a model.
type Info struct {
	// Name is the name that the user gave: a built-in name or a path.
	Name string `json:"name"`
	// Title is the name that its file gives it, such as "SmolLM2 135M Instruct"; empty if it gives
	// none.
	Title string `json:"title,omitempty"`
	// Hash is the hexadecimal SHA-256 of its configuration and weights.
	Hash string `json:"hash"`
	// Note is a remark that every picture of the model must show, such as "toy grammar model";
	// empty for most models.
	Note string `json:"note,omitempty"`
	// Remarks are what was noticed while the model was opened and changes no number: keys that were
	// ignored, values that were assumed. One sentence each, for those who ask for them.
	Remarks []string `json:"remarks,omitempty"`
	// Family is the architecture: bloom, gpt2, llama.
	Family string `json:"family"`
	// Backend is the name of the backend that computes it: go, xla or cuda.
	Backend string `json:"backend"`

	// Head is the kind of head after the last layer.
	Head Head `json:"head,omitempty"`
	// Numbers reports whether the head's scores are numbers without a probability, as in a
	// regression, a reranker, or the starts and ends of answers.
	Numbers bool `json:"numbers,omitempty"`
	// Bidirectional reports whether every token sees every other, as in an encoder.
	Bidirectional bool `json:"bidirectional,omitempty"`
	// Sinks reports whether each head has a score of its own beside those of the sources, so
	// that a row of attention sums to less than 1 (GPT-OSS).
	Sinks bool `json:"sinks,omitempty"`
	// Parallel reports whether blocks add attention and feed-forward part to the residual stream at
	// once.
	Parallel bool `json:"-"`
	// NormsAfter reports whether blocks norm what attention and feed-forward part put out before it
	// is added to the residual stream.
	NormsAfter bool `json:"-"`
	// KeyValueHeads is how many heads have keys and values of their own: that many groups of
	// consecutive heads share them. 0 if each head has its own.
	KeyValueHeads int `json:"-"`
	// MeanPooled reports whether an encoder's classes are read from the mean of all tokens, and not
	// from the first one. Unless positions are asked for, the row of a prediction is then the mean
	// of all rows.
	MeanPooled bool `json:"mean_pooled,omitempty"`
	// EncoderLayers is, for a model of two stacks, how many of the layers, from the first on, are
	// those of the encoder; 0 for others. Each block of the decoder is two layers after them: its
	// attention to the target, and its attention to the source with the feed-forward part. The text
	// is the tokens of the source, then [Info.Boundary], then those of the target. A layer leaves
	// the tokens of the other stack as they are.
	EncoderLayers int `json:"encoder_layers,omitempty"`
	// LayerNames are the names of the layers of a model of two stacks, [L], see [Info.LayerLabel];
	// nil for others.
	LayerNames []string `json:"layer_names,omitempty"`
	// NoGradientAtZero reports whether the model divides each embedding by its root mean square
	// before anything else, so that its gradient has no limit where an embedding goes to zeros.
	NoGradientAtZero bool `json:"-"`

	Layers  int `json:"layers"`            // L
	Heads   int `json:"heads"`             // H
	Width   int `json:"width"`             // D
	Vocab   int `json:"vocab"`             // V
	Context int `json:"context"`           // the largest number of tokens; 0 for no limit
	Experts int `json:"experts,omitempty"` // X; 0 without experts
	// SourceVocab is how many tokens the source has of its own in a model of two stacks with two
	// vocabularies, 0 in others. Vocab is then what the target has, which is what is scored. The
	// ids of the source's tokens follow the target's, from Vocab on.
	SourceVocab int `json:"source_vocab,omitempty"`
}

// Boundary returns the id with which the target begins in the text of a model of two stacks, -1 for
// others. It is the only one outside the vocabulary.
func (i Info) Boundary() int {
	if i.EncoderLayers == 0 {
		return -1
	}
	return i.IDs()
}

// TargetBegin returns where the target begins in the text of a model of two stacks: the place of
// [Info.Boundary], before which the source stands; -1 without one, and for other models.
func (i Info) TargetBegin(ids []int) int {
	if i.EncoderLayers == 0 {
		return -1
	}
	return slices.Index(ids, i.Boundary())
}

// Prefix returns how many tokens of a text, from the first on, see each other: all in an encoder,
// those of the source in a model of two stacks, none in a decoder.
func (i Info) Prefix(ids []int) int {
	if i.Bidirectional {
		return len(ids)
	}
	return max(0, i.TargetBegin(ids))
}

// Sight tells which tokens of a text see each other.
type Sight struct {
	// Prefix is how many tokens at the beginning see each other; a later one sees itself and those
	// before it. See [Info.Prefix].
	Prefix int
	// Encoder is, for two stacks, how many layers from 0 on belong to the encoder; it is below 0 if
	// layers are counted from one of the decoder on.
	Encoder int
}

// Width returns how many tokens token t sees in any layer, from the first one, in a text of T.
func (s Sight) Width(t, T int) int { return max(t+1, min(s.Prefix, T)) }

// Seen returns which tokens token t sees in layer l, from..to-1, in a text of T. In a model of two
// stacks a layer of the encoder works on the prefix; in the decoder, a layer in which tokens see
// those before them and one in which they see the prefix take turns. A token that a layer does not
// work on sees itself alone.
func (s Sight) Seen(l, t, T int) (from, to int) {
	decoder := l - s.Encoder
	switch {
	case s.Prefix == 0 || s.Prefix >= T:
		return 0, s.Width(t, T)
	case (decoder < 0) != (t < s.Prefix):
		return t, t + 1
	case decoder >= 0 && decoder%2 == 0:
		return s.Prefix, t + 1
	}
	return 0, s.Prefix
}

// IDs returns how many ids tokens may have, from 0 on.
func (i Info) IDs() int { return i.Vocab + i.SourceVocab }

// Sharing returns the heads that have the key and the value of a head, itself included.
func (i Info) Sharing(head int) (all []int) {
	size := 1
	if i.KeyValueHeads > 0 {
		size = max(1, i.Heads/i.KeyValueHeads)
	}
	for h := head / size * size; len(all) < size; h++ {
		all = append(all, h)
	}
	return all
}

// LayerLabel returns the name of layer l, 0-based, beside a row or below a column: "3" or, in a
// model of two stacks, "encoder 3", "decoder 2 self" for the attention of block 2 of the decoder to
// the target, and "decoder 2 cross" for its attention to the source. Blocks count from 0 in each
// stack.
func (i Info) LayerLabel(l int) string {
	switch at := l - i.EncoderLayers; {
	case i.EncoderLayers == 0:
		return strconv.Itoa(l)
	case at < 0:
		return fmt.Sprintf("encoder %d", l)
	case at%2 == 0:
		return fmt.Sprintf("decoder %d self", at/2)
	default:
		return fmt.Sprintf("decoder %d cross", at/2)
	}
}

// LayerName returns the name of layer l in a sentence: "layer 3", or as [Info.LayerLabel] does.
func (i Info) LayerName(l int) string {
	if i.EncoderLayers == 0 {
		return fmt.Sprintf("layer %d", l)
	}
	return i.LayerLabel(l)
}

// LayerRange returns the name of several layers: "layers 3 to 5", or "encoder 0 to decoder 2 self".
func (i Info) LayerRange(first, last int) string {
	if i.EncoderLayers == 0 {
		return fmt.Sprintf("layers %d to %d", first, last)
	}
	return i.LayerLabel(first) + " to " + i.LayerLabel(last)
}

// Room returns how many tokens may follow a text: the context less the tokens in it, below 0 if
// these are too many. Each of two stacks has a context of its own: what follows counts with the
// target, unless the source alone is too long.
func (i Info) Room(ids []int) int {
	n := len(ids)
	if at := i.TargetBegin(ids); at >= 0 {
		if n -= at; at > i.Context {
			n = at
		}
	}
	if i.Context == 0 {
		return math.MaxInt
	}
	return i.Context - n
}

// Head is what a model predicts from its last hidden state.
type Head string

// The heads.
const (
	// NextToken scores the next token.
	NextToken Head = "next-token"
	// MaskedToken scores the token at each position; some positions are masked.
	MaskedToken Head = "masked-token"
	// Classes scores the classes of the whole text, one of which applies, or gives it one number.
	// An encoder reads it at the first token or from the mean of all, see [Info.MeanPooled], a
	// decoder at the last one.
	Classes Head = "classes"
	// Labels scores each class of the whole text by itself: any number of them may apply. Its
	// scores may also be numbers without a probability.
	Labels Head = "labels"
	// TokenClasses scores the classes of each token.
	TokenClasses Head = "token-classes"
	// Spans scores each token as the start (class 0) and as the end (class 1) of an answer.
	Spans Head = "spans"
	// NoHead is for a model that ends with its hidden state.
	NoHead Head = "none"
)

// WholeText reports whether the head scores classes of the whole text.
func (h Head) WholeText() bool { return h == Classes || h == Labels }

// Classifies reports whether the head scores classes, and not the entries of the vocabulary.
func (h Head) Classifies() bool { return h.WholeText() || h == TokenClasses || h == Spans }

// Competes reports whether what the head scores at a position excludes each other, so that one
// score says more beside the others.
func (h Head) Competes() bool { return h != Labels && h != Spans }

// Reads reports whether the model reads a text, as encoders and all classifiers do, and does not
// continue it.
func (i Info) Reads() bool { return i.Bidirectional || i.Head.Classifies() || i.Head == NoHead }

// Tap names a tensor that a run can record.
type Tap string

// The taps. A tap that is not asked for costs nothing.
const (
	// Scores is the attention before softmax, masked entries 0: [L,H,T,S].
	Scores Tap = "scores"
	// Terms is the three parts whose sum is Scores: content, query-bias, alibi (in this order):
	// [L,H,3,T,S]. If a model caps its scores at c, Scores is c·tanh(sum/c).
	Terms Tap = "terms"
	// Attention is the softmax of the scores, rows sum to 1: [L,H,T,S].
	Attention Tap = "attention"
	// AttentionMean is the mean of Attention over the heads: [L,T,S].
	AttentionMean Tap = "attention-mean"
	// QueryVector is the query of each target as the scores read it, after norms and rotary
	// positions and before it is scaled: [L,H,T,E].
	QueryVector Tap = "query"
	// KeyVector is the key of each source, once for every head that reads it, after norms and
	// rotary positions: [L,H,S,E].
	KeyVector Tap = "key"
	// Value is the value vector of each source, once for every head that reads it: [L,H,S,E].
	Value Tap = "value"
	// Context is attention × value per head: [L,H,T,E].
	Context Tap = "context"
	// HeadOutput is each head's context through its slice of the output projection, without the
	// bias: [L,H,T,D].
	HeadOutput Tap = "head-output"
	// HeadAdded is what each head adds to the residual stream: HeadOutput, carried through the norm
	// that some blocks (Gemma 2 and 3) put after the attention, before the residual is added. Each
	// head is divided by the spread of the whole output of the attention, and has no part of that
	// norm's bias. The sum over the heads plus the biases is what is added. In blocks without that
	// norm it is HeadOutput: [L,H,T,D].
	HeadAdded Tap = "head-added"
	// ValueOutput is each source's value through each head's slice of the output projection,
	// without the bias: [L,H,S,D]. Attention times it is HeadOutput.
	ValueOutput Tap = "value-output"
	// AttentionOutput is what the attention puts out, its bias included, before any norm that
	// follows: [L,T,D].
	AttentionOutput Tap = "attention-output"
	// HiddenAfterAttention is the residual stream between the two parts of a block: after the
	// attention was added to it and, in a post-norm block, after the norm that follows. Models
	// whose blocks add both parts at once have none: [L,T,D].
	HiddenAfterAttention Tap = "hidden-after-attention"
	// FeedForwardOutput is what the feed-forward part puts out, its bias included, before any norm
	// that follows; zeros in a layer without one, as the attention of two stacks to the target has:
	// [L,T,D].
	FeedForwardOutput Tap = "feed-forward-output"
	// Hidden is the residual stream: before each block, then after the last one and before the
	// final norm: [L+1,T,D].
	Hidden Tap = "hidden"
	// Router is the probability that the router gives to each expert, [L,T,X]; 0 in layers without
	// experts. Only a model with experts has it.
	Router Tap = "router"
	// Experts is which experts each token passes, [L,T,K,2]: the number of each, the most probable
	// one first, and the weight of its output. Numbers count from 0; in layers without experts they
	// are -1, and the weights 0. Only a model with experts has it.
	Experts Tap = "experts"
	// EncoderOutput is what the decoder of two stacks reads of the tokens of the source: the stream
	// after the last layer of the encoder and, where there is one, after the encoder's own norm
	// (encoder_last_hidden_state in transformers); 0 for tokens of the target. An edit of Hidden in
	// a layer of the decoder changes it, too. Only a model of two stacks has it: [T,D].
	EncoderOutput Tap = "encoder-output"
	// Final is the residual stream after the final norm, or after the last block if there is no
	// final norm: [T,D]. Of two stacks it is the norm of the decoder; what that makes of tokens of
	// the source is read by nothing, see EncoderOutput.
	Final Tap = "final"
	// Logits is the score of every entry of the vocabulary, [T,V]; for classifiers that of every
	// class, [K], or of every class of each token, [T,K].
	Logits Tap = "logits"
	// ValueZeroing is the mixing of that name for every target: distances, not normalised, [L,T,S].
	ValueZeroing Tap = "value-zeroing"
)

// Taps returns every tap in the order in which they are documented.
func Taps() []Tap {
	return []Tap{
		Scores, Terms, Attention, AttentionMean, QueryVector, KeyVector, Value, Context, HeadOutput,
		HeadAdded, ValueOutput, AttentionOutput, HiddenAfterAttention, FeedForwardOutput, Hidden,
		Router, Experts, EncoderOutput, Final, Logits, ValueZeroing,
	}
}

// Taps returns the taps that the model has, in the order of the function [Taps].
func (i Info) Taps() []Tap {
	return slices.DeleteFunc(Taps(), func(tap Tap) bool {
		switch tap {
		case Logits:
			return i.Head == NoHead
		case Router, Experts:
			return i.Experts == 0
		case EncoderOutput:
			return i.EncoderLayers == 0
		case HiddenAfterAttention:
			return i.Parallel
		}
		return false
	})
}

// Tensor is a named array of float32, row-major.
type Tensor struct {
	// Name is the name of a tap or a mixing.
	Name string
	// Axes has one letter for each axis, as in the legend of the package: "LHTS".
	Axes string
	// Shape is the size of each axis, and Data the numbers, outermost axis first.
	Shape []int
	Data  []float32
}

// Fusion is a way to combine the matrices of all heads into one.
type Fusion int

// The fusions.
const (
	MeanHeads Fusion = iota // arithmetic mean over heads
	MaxHeads                // entrywise maximum over heads
	MinHeads                // entrywise minimum over heads
	OneHead                 // one head alone
	EachHead                // no fusion: every head by itself
)

// Heads is a fusion and, for OneHead, the head. The zero value is the mean over heads.
type Heads struct {
	Fusion Fusion
	Head   int // 0-based; only for OneHead
}

// ParseHeads reads mean, max, min, each, or a head's number. The empty string is mean.
func ParseHeads(s string) (Heads, error) {
	switch s {
	case "", "mean":
		return Heads{}, nil
	case "max":
		return Heads{Fusion: MaxHeads}, nil
	case "min":
		return Heads{Fusion: MinHeads}, nil
	case "each":
		return Heads{Fusion: EachHead}, nil
	}
	k, err := strconv.Atoi(s)
	if err != nil || k < 0 {
		return Heads{}, pkg.Errorf("heads %.60q: %swant mean, max, min, each or a head's number "+
			"from 0", s, message.DidYouMean(s, []string{"mean", "max", "min", "each"}))
	}
	return Heads{Fusion: OneHead, Head: k}, nil
}

// String returns the heads in the form that [ParseHeads] reads.
func (h Heads) String() string {
	switch h.Fusion {
	case MeanHeads:
		return "mean"
	case MaxHeads:
		return "max"
	case MinHeads:
		return "min"
	case EachHead:
		return "each"
	}
	return strconv.Itoa(h.Head)
}

// MarshalText returns [Heads.String], so that Heads is a string in JSON.
func (h Heads) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads the form of [Heads.MarshalText]. It returns an error of [ParseHeads].
func (h *Heads) UnmarshalText(b []byte) (err error) {
	*h, err = ParseHeads(string(b))
	return err
}

// MixingAsk asks for the rows of one mixing in every step.
type MixingAsk struct {
	// Name is a registered mixing: attention, value-zeroing.
	Name string
	// Heads is how heads are fused. A model returns an error for what a mixing cannot do.
	Heads Heads
	// AllRows asks for the rows of every prompt position; otherwise the first step has only the
	// last one.
	AllRows bool
}

// Sampling is how a token is chosen. The zero value is greedy: the most probable token is chosen,
// and the lowest id among equals.
type Sampling struct {
	// Temperature divides the logits; 0 is greedy.
	Temperature float64 `json:"temperature,omitempty"`
	// TopK keeps the K most probable tokens; 0 keeps all.
	TopK int `json:"top_k,omitempty"`
	// TopP keeps the smallest set of most probable tokens whose probability reaches it; 0 keeps
	// all.
	TopP float64 `json:"top_p,omitempty"`
	// Seed starts the random source; equal seeds give equal tokens.
	Seed uint64 `json:"seed,omitempty"`
	// Beams, if above 1, searches for a probable text with so many beams, at temperature 0. The
	// tokens that are generated are those of the best text found.
	Beams int `json:"beams,omitempty"`
}

// MaxBeams is the largest number of [Sampling.Beams].
const MaxBeams = 64

// TermsAsk is the number whose parts are asked for: the logit of the token that is predicted, minus
// that of Contrast or the mean of the Foils next most probable tokens.
type TermsAsk struct {
	// Contrast is a token, nil for none.
	Contrast *int
	// Foils is the number of foils, 0 for none. It must be 0 with a contrast.
	Foils int
	// Alone asks for [AttentionTerms.Alone] beside those against foils.
	Alone bool
	// Rows are what [Step.RowsOfLayer] will be asked for, so that a model can prepare for it.
	Rows []MixingAsk
	// ByHead asks for [AttentionTerms.ByHead], where one text runs alone.
	ByHead bool
}

// Ask has what a caller wants from a run of a model.
type Ask struct {
	// Mixings are the rows asked for; [Step.Rows] has one entry for each, in this order.
	Mixings []MixingAsk
	// MaxTokens is the number of tokens after which the run ends. It must be positive unless
	// Continuation is given.
	MaxTokens int
	// Continuation, if not empty, has the ids to use instead of chosen tokens. Predictions then
	// have the probabilities of these.
	Continuation []int
	// Sampling is how tokens are chosen if there is no continuation.
	Sampling Sampling
	// Alternatives is the number of most probable tokens in each prediction.
	Alternatives int
	// Positions are, for models that read, the targets whose predictions are asked for, in this
	// order. Empty means every masked position for [MaskedToken], where the class is read for heads
	// of the whole text and models without a head, every token of an unusual class for
	// [TokenClasses], and for [Spans] the start and the end of the best answer; there two positions
	// are a start and an end. It must be empty for models that generate.
	Positions []int
	// Types are the token types of the text, [T]; nil for type 0 everywhere.
	Types []int
	// Answers are the positions [begin,end) among which [Spans] looks for the answer; the zero
	// value is the whole text.
	Answers [2]int
	// Terms, if not nil, asks for the attention terms of every prediction; see [Step.Terms].
	Terms *TermsAsk
	// Products asks for [Step.Multiply], so that the model keeps what it needs for it.
	Products bool
	// Lens asks for [Step.Lens] with so many of the most probable tokens; 0 asks for none.
	Lens int
	// Logits asks for [Step.Logits].
	Logits bool
	// Edits change what the model computes, if it is [Editable]. Rows are those of the edited
	// blocks. Products are not computed under edits.
	Edits []Edit
	// Progress, if not nil, is called during long work before the first token.
	Progress func(Progress)
}

// Progress is how far a piece of work is.
type Progress struct {
	// Stage is what is being done, in words for a user: "preparing prompt rows".
	Stage string `json:"stage"`
	// Unit is what Done and Total count: "layer", or "percent" of 100. Total is 0 for work that is
	// not counted.
	Unit  string `json:"unit"`
	Done  int    `json:"done"`
	Total int    `json:"total"`
}

// Compiling begins the Stage of work that waits for the compiler of a backend. A compiler cannot be
// stopped: it goes on after the request was cancelled.
const Compiling = "compiling "

// String returns one line for a user.
func (p Progress) String() string {
	switch {
	case p.Total == 0:
		return p.Stage
	case p.Unit == "percent":
		return fmt.Sprintf("%s, %d %%", p.Stage, p.Done)
	}
	return fmt.Sprintf("%s, %s %d of %d", p.Stage, p.Unit, p.Done, p.Total)
}

// Rows are N target rows of one mixing in every layer.
type Rows struct {
	// First is the position of the first target row; the rows are First..First+N-1.
	First int
	// L layers, H heads (1 when they are fused), N targets, S sources (positions 0..S-1).
	L, H, N, S int
	// Data is [L,H,N,S]; sources after the target are 0 in a causal model. Not normalised unless
	// the mixing is.
	Data []float32
}

// Row returns target row First+n of head h in layer l, [S]. It aliases Data.
func (r Rows) Row(l, h, n int) []float32 {
	i := ((l*r.H+h)*r.N + n) * r.S
	return r.Data[i : i+r.S : i+r.S]
}

// Alternative is a token that the model could have chosen, with its probability in [0,1].
type Alternative struct {
	Token       Token
	Probability float64
}

// Prediction is the token after the last row of a step or, for models that read, the output of the
// head at a position.
type Prediction struct {
	// Token is the token predicted. For a classifier it is the class, with its number and its
	// label. For a model without a head it is the text's own token.
	Token Token
	// Position is the target row that predicts it.
	Position int
	// Class reports whether Token is a class. Unscored reports whether there is no probability,
	// because the model has no head or its scores are numbers.
	Class, Unscored bool
	// Probability is the model's own, before temperature and cuts, in [0,1]. That of a start or end
	// is among the positions at which the answer may be.
	Probability float64
	// Alternatives are the most probable tokens, the most probable first; the chosen one may be
	// among them.
	Alternatives []Alternative
	// Scores are those of Token, nil where the model gives no distribution of which it is one: for
	// numbers, for classes that do not exclude each other, and for a start and an end.
	Scores *TokenScores
	// Forced reports whether the caller gave the token.
	Forced bool
	// Stop reports whether the token ends the text, so that no step follows.
	Stop bool
}

// Step is one pass through the model. The first step of a model that reads has all rows and the
// prediction of the first position asked for. Each further step has the prediction of the next
// position, with Count 0 and no rows.
type Step struct {
	// First is the position of the first input token of the step, and Count the number of input
	// tokens.
	First, Count int
	// Rows has one entry for each of [Ask.Mixings].
	Rows []Rows
	// Next is the prediction of token First+Count.
	Next *Prediction
	// Logits are what Next was predicted by, [V]; nil without [Ask.Logits], and from a model that
	// reads.
	Logits []float32
	// Terms are the attention terms of Next, of all First+Count sources. They are nil without
	// [Ask.Terms], and always nil from a model that does not know them.
	Terms *AttentionTerms
	// Lens is what the head reads after each layer where Next is predicted, and of its token,
	// [L+1]; nil without [Ask.Lens], and from a model that reads.
	Lens []LensLayer
	// RowsOfLayer computes the row of the last input token in one layer, 0-based: L is 1 and N is
	// 1. It may be called until the next step begins. It is nil unless the model is a
	// [LayerReader] and [Ask.Terms] is set.
	RowsOfLayer func(ctx context.Context, layer int, ask MixingAsk) (Rows, error)
	// Multiply returns vectors times the rows of one layer, [K,T], for the T = First+Count tokens
	// so far. It may be called until the next step begins. It is nil unless the model is a
	// [Multiplier] and [Ask.Products] is set.
	Multiply func(ctx context.Context, q Product) ([]float64, error)
}
