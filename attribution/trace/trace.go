// Package trace is what a run of a model recorded and what may be asked of it: tokens, rows of
// mixings, raw tensors. Producers (a model) and consumers (attribution) meet here, so it imports
// the standard library only.
//
// One pass through a model yields one [Step]: the target rows of the tokens that were fed and, from
// the last of them, the [Prediction] of the next token. The first step feeds the whole prompt (many
// rows), each later one a single token (one row): target row t produces the prediction of token
// t+1.
//
// Capital letters are sizes: L layers, H heads, T targets, S sources, N target rows of one step, D
// width of the residual stream, E width of a head, V vocabulary. Every shape is outermost axis
// first, row-major; layers, heads and positions count from 0.
package trace

import (
	"fmt"
	"strconv"
)

// Token is one entry of the vocabulary at one place of a text.
type Token struct {
	// ID is the row of the embedding, 0-based.
	ID int `json:"id"`
	// Text is what the token spells, in raw bytes: a part of a character is possible, so it need
	// not be valid UTF-8.
	Text string `json:"text"`
	// Begin and End are the bytes [Begin,End) of the text that it was encoded from; of the text
	// made so far if the token was generated; both 0 for a special token that the tokenizer added.
	Begin int `json:"begin"`
	End   int `json:"end"`
	// Special is whether it is a control token such as begin-of-text, and not text.
	Special bool `json:"special,omitempty"`
}

// Specials says whether the control tokens of a model are put around a text.
type Specials int

// The values of Specials.
const (
	// SpecialsAuto does what the checkpoint's tokenizer does.
	SpecialsAuto Specials = iota
	// SpecialsOn adds begin-of-text even if the tokenizer would not; an error if the model has
	// none.
	SpecialsOn
	// SpecialsOff adds none.
	SpecialsOff
)

// Info describes a model.
type Info struct {
	// Name is what the user called it: a built-in name or a path.
	Name string `json:"name"`
	// Hash is the hexadecimal SHA-256 of its configuration and weights.
	Hash string `json:"hash"`
	// Note is a remark that every picture of it must carry, such as "toy grammar model"; empty for
	// most.
	Note string `json:"note,omitempty"`
	// Family is the architecture: bloom, gpt2, llama.
	Family string `json:"family"`
	// Backend is what computes it: go, xla or cuda.
	Backend string `json:"backend"`

	// Head is what stands behind the last layer.
	Head Head `json:"head,omitempty"`
	// Bidirectional is whether every token sees every other, as in an encoder, which reads a text
	// and does not continue it.
	Bidirectional bool `json:"bidirectional,omitempty"`

	Layers  int `json:"layers"`  // L
	Heads   int `json:"heads"`   // H
	Width   int `json:"width"`   // D
	Vocab   int `json:"vocab"`   // V
	Context int `json:"context"` // tokens at most; 0: no limit of its own
}

// Head is what a model makes of its last hidden state.
type Head string

// The heads.
const (
	// NextToken scores the next token.
	NextToken Head = "next-token"
	// MaskedToken scores the token at each position, of which some are masked.
	MaskedToken Head = "masked-token"
	// Classes scores the classes of the whole text, read at its first token.
	Classes Head = "classes"
	// TokenClasses scores the classes of each token.
	TokenClasses Head = "token-classes"
	// NoHead is a model that ends with its hidden state.
	NoHead Head = "none"
)

// Tap names a tensor that a run can record.
type Tap string

// The taps. A tap that is not asked for costs nothing.
const (
	// Scores is the attention before softmax, masked entries 0: [L,H,T,S].
	Scores Tap = "scores"
	// Terms is the three parts whose sum is Scores: content, query-bias, alibi (in this order):
	// [L,H,3,T,S]. Where a model caps its scores, Scores is c·tanh(sum/c).
	Terms Tap = "terms"
	// Attention is the softmax of the scores, rows sum to 1: [L,H,T,S].
	Attention Tap = "attention"
	// AttentionMean is the mean of Attention over the heads: [L,T,S].
	AttentionMean Tap = "attention-mean"
	// Value is the value vector of each source, once for every head that reads it: [L,H,S,E].
	Value Tap = "value"
	// Context is attention × value per head: [L,H,T,E].
	Context Tap = "context"
	// HeadOutput is each head's context through its slice of the output projection, without the
	// bias: [L,H,T,D].
	HeadOutput Tap = "head-output"
	// Hidden is the residual stream: before each block, then after the last one and before the
	// final norm: [L+1,T,D].
	Hidden Tap = "hidden"
	// Final is the residual stream after the final norm, or after the last block where there is
	// none: [T,D].
	Final Tap = "final"
	// Logits is the score of every entry of the vocabulary: [T,V]; of every class, [K], or of every
	// class of each token, [T,K].
	Logits Tap = "logits"
	// ValueZeroing is the mixing of that name for every target, distances, not normalised: [L,T,S].
	ValueZeroing Tap = "value-zeroing"
)

// Taps lists every tap in a fixed order, the one in which they are documented.
func Taps() []Tap {
	return []Tap{Scores, Terms, Attention, AttentionMean, Value, Context, HeadOutput, Hidden, Final,
		Logits, ValueZeroing}
}

// Tensor is a named array of float32, row-major.
type Tensor struct {
	Name string
	// Axes has one letter an axis, as in the legend of the package: "LHTS".
	Axes  string
	Shape []int
	Data  []float32
}

// Fusion is a way to make one matrix of the matrices of all heads.
type Fusion int

// The fusions.
const (
	MeanHeads Fusion = iota // arithmetic mean over heads
	MaxHeads                // entrywise maximum over heads
	MinHeads                // entrywise minimum over heads
	OneHead                 // one head alone
	EachHead                // no fusion: every head apart
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
		return Heads{}, fmt.Errorf("trace: heads %.60q: %swant mean, max, min, each or a head's "+
			"number from 0",
			s, DidYouMean(s, []string{"mean", "max", "min", "each"}))
	}
	return Heads{Fusion: OneHead, Head: k}, nil
}

// String returns what ParseHeads reads.
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

// MarshalText makes Heads a JSON string.
func (h Heads) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (h *Heads) UnmarshalText(b []byte) (err error) {
	*h, err = ParseHeads(string(b))
	return err
}

// MixingAsk asks for the rows of one mixing in every step.
type MixingAsk struct {
	// Name is a registered mixing: attention, value-zeroing.
	Name string
	// Heads says how the heads are fused. A mixing that has no heads apart returns an error for
	// what it cannot do.
	Heads Heads
	// AllRows asks for the rows of every prompt position; otherwise the first step yields the last
	// one only.
	AllRows bool
}

// Sampling says how a token is chosen. The zero value is greedy: the most probable, the lowest id
// among equals.
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
}

// Ask is what a caller wants from a run.
type Ask struct {
	// Mixings are the rows wanted; [Step.Rows] has one entry for each, in this order.
	Mixings []MixingAsk
	// MaxTokens ends the run after that many tokens; it must be positive unless Continuation is
	// given.
	MaxTokens int
	// Continuation, if not empty, forces these ids instead of choosing: the steps carry their
	// probabilities.
	Continuation []int
	// Sampling is how tokens are chosen without a continuation.
	Sampling Sampling
	// Alternatives is how many of the most probable tokens each prediction carries.
	Alternatives int
	// Positions, of an encoder, are the targets whose predictions are wanted, in this order. Empty
	// is every masked position, or the first one, where the class is read, for heads other than
	// MaskedToken. A decoder takes none.
	Positions []int
	// OwnRow feeds the last token too: one closing step with its row and without a prediction.
	OwnRow bool
	// Progress, if not nil, is told of work that takes long before the first token.
	Progress func(Progress)
}

// Progress is how far a piece of work is.
type Progress struct {
	// Stage says what is done, in words for a user: "preparing prompt rows".
	Stage string `json:"stage"`
	// Unit is what Done and Total count: "layer".
	Unit  string `json:"unit"`
	Done  int    `json:"done"`
	Total int    `json:"total"`
}

// String returns one line for a user.
func (p Progress) String() string {
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

// Alternative is a token that might have come.
type Alternative struct {
	Token       Token
	Probability float64
}

// Prediction is the token that follows the last row of a step or, of an encoder, what its head says
// at a position.
type Prediction struct {
	// Token is the token predicted. Of a classifier it is the class: its number and its label.
	// Without a head it is the text's own token.
	Token Token
	// Position is the target row that predicts it.
	Position int
	// Class is whether Token is a class, and Unscored whether there is no probability, for want of
	// a head or of a second class.
	Class, Unscored bool
	// Probability is the model's own, before temperature and cuts, in [0,1].
	Probability float64
	// Alternatives are the most probable tokens, in falling order; the chosen one may be among
	// them.
	Alternatives []Alternative
	// Forced is whether the token was given by the caller.
	Forced bool
	// Stop is whether the token ends the text (end-of-text), so that no step follows.
	Stop bool
}

// Step is one pass through the model. The first step of an encoder holds all rows and the
// prediction of the first position asked for; each further one holds the prediction of the next
// position, with Count 0 and no rows.
type Step struct {
	// First is the position of the first token that was fed, Count how many were.
	First, Count int
	// Rows has one entry for each of [Ask.Mixings].
	Rows []Rows
	// Next is the prediction of token First+Count; nil in the closing step of [Ask.OwnRow].
	Next *Prediction
}
