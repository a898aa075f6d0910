package attribution

import (
	"fmt"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// Version is the version of the JSON form of an [Explanation].
const Version = 1

// Options says how to generate and what to compute. The zero value is the default of every field.
type Options struct {
	// Methods are names of registered methods, in the order shown. Default: [DefaultMethods].
	Methods []string `json:"methods,omitempty"`
	// MaxTokens is how many tokens to generate at most. Default 16. Excludes a Continuation.
	MaxTokens int `json:"max_tokens,omitempty"`
	// Continuation, if not empty, is explained instead of text that the model chooses; it excludes
	// MaxTokens and Sampling.
	Continuation string `json:"continuation,omitempty"`
	// Positions, of an encoder, are the tokens whose predictions are explained, 0-based, in this
	// order and each once. Default: every masked token, or the first one, where the class is read,
	// for heads other than masked-token. An encoder takes no MaxTokens, Continuation, Sampling or
	// OwnRow, and a decoder no Positions.
	Positions []int `json:"positions,omitempty"`
	// Specials says whether begin-of-text is added to the prompt.
	Specials trace.Specials `json:"specials,omitempty"`
	// Chat takes the prompt for what a user says, in the form of conversation that the model was
	// trained on, and explains the answer. The control tokens of that form are prompt tokens like
	// others, flagged as special.
	Chat bool `json:"chat,omitempty"`
	// Sampling is how tokens are chosen; greedy by default.
	Sampling trace.Sampling `json:"sampling,omitzero"`
	// Alternatives is how many alternatives each token carries. Default 5.
	Alternatives int `json:"alternatives,omitempty"`
	// Heads is how attention heads are fused before aggregation; mean by default.
	Heads trace.Heads `json:"heads,omitzero"`
	// PerHead, if not nil, explains by that head of each layer over mean-merged lower layers (Abnar
	// and Zuidema 2020, appendix A.1): R_l^h = Â_l^h R_{l-1}.
	PerHead *int `json:"per_head,omitempty"`
	// Residual is the weight r of the residual connection, Â = rownorm((1-r)C + rI), in [0,1]; nil
	// is each method's own default. Mixings that contain the residual take none.
	Residual *float64 `json:"residual,omitempty"`
	// FirstLayer and LastLayer limit aggregation to layers FirstLayer..LastLayer, 0-based and
	// inclusive; LastLayer nil is the last layer.
	FirstLayer int  `json:"first_layer,omitempty"`
	LastLayer  *int `json:"last_layer,omitempty"`
	// AllLevels computes every layer's flow, not only the top one: L times the work. One of the
	// methods must aggregate by flow; the others have every layer anyway.
	AllLevels bool `json:"all_levels,omitempty"`
	// Threshold sets value-zeroing distances below it to 0. Default 0; 1e-5 for parity with Inseq.
	Threshold float64 `json:"threshold,omitempty"`
	// LocalLift divides each layer's rows by uniform attention before the residual is added. It is
	// one factor for a row, so it acts only as another weight of the residual, which falls with the
	// position.
	LocalLift bool `json:"local_lift,omitempty"`
	// MeasuredResidual weighs the residual of every target and layer by what the model does there,
	// 1 minus its mixing ratio (Kobayashi et al. 2021), instead of by one number.
	MeasuredResidual bool `json:"measured_residual,omitempty"`
	// DropSink takes the first source out of every row, and divides the rest by its sum, before
	// layers are combined.
	DropSink bool `json:"drop_sink,omitempty"`
	// Discard, ρ in [0,1), sets the lowest entries of each layer to 0 before the residual is added.
	// In a decoder it does so row by row, the lowest ⌊ρ(i+1)⌋ of the i+1 entries of row i, so that
	// rows do not change when the text grows. In an encoder it takes the whole map, the lowest
	// ⌊ρT²⌋ of T² entries, as vit-explain has it. The first entry, of the row or of the map, always
	// stays.
	Discard float64 `json:"discard,omitempty"`
	// DiscardWhole lets Discard take the whole map in a decoder too: the lowest ⌊ρT²⌋ of T²
	// entries. As in vit-explain the T(T-1)/2 zeros above the diagonal are among them, so a ρ up to
	// (T-1)/2T changes nothing. Every row then depends on all others, so it needs the rows of the
	// whole text: [Attribute] and [MinCut] take it, and [Explain] refuses it for a decoder. In an
	// encoder it changes nothing.
	DiscardWhole bool `json:"discard_whole,omitempty"`
	// Contrast, for scorers, is the text of one token or the name of a class: what is explained is
	// why the prediction came and not that. It goes for every token explained.
	Contrast string `json:"contrast,omitempty"`
	// Scoring says how scorers work.
	Scoring Scoring `json:"scoring,omitzero"`
	// OwnRow explains each token by its own row instead of the row that predicts it; it costs one
	// step more.
	OwnRow bool `json:"own_row,omitempty"`
	// Lift divides every value by what uniform attention over visible tokens gives at the same
	// place.
	Lift bool `json:"lift,omitempty"`

	// OnStep, if not nil, is called after every generated token with the explanation so far, which
	// must not be kept or changed. OnProgress is told of long work between tokens.
	OnStep     func(*Explanation)   `json:"-"`
	OnProgress func(trace.Progress) `json:"-"`
}

// Explanation is the answer: the tokens and, for each method, where every generated token came
// from. n generated tokens, m prompt tokens. An encoder generates nothing: its n tokens are its
// predictions at n positions of the text.
type Explanation struct {
	Version int        `json:"version"`
	Model   trace.Info `json:"model"`
	Prompt  Prompt     `json:"prompt"`
	// Steps are the n generated tokens, or the n predictions of an encoder, in order.
	Steps []GeneratedToken `json:"steps"`
	// Order is the names of Methods in the order asked for.
	Order []string `json:"order"`
	// Methods has the result of each method by name.
	Methods map[string]*Result `json:"methods"`
	// OtherMass has, by method, [n,l]: what rests on generated tokens, Σ over their columns; it is
	// 1 - Σ_j M[t,j,l] for methods whose rows sum to 1. It is taken before lift, whose values are
	// no mass. 0 of an encoder.
	OtherMass map[string][]float64 `json:"other_mass"`
	// Maps has, of an encoder, every target's row by method, [L,m,m]: row Position of a prediction
	// is its row in Methods. A method whose map would take too long is missing and one whose map is
	// too large has the top level alone; a warning says so. Nil of a decoder.
	Maps map[string]*Map `json:"maps,omitempty"`
	// Warnings are remarks for the user, one sentence each.
	Warnings []string `json:"warnings"`
}

// Prompt is the m tokens that the user gave, column j of every result.
type Prompt struct {
	Text string `json:"text"`
	// IDs, Texts and Offsets are [m]; an offset is the byte range [begin,end) in Text, [0,0] for an
	// added special token.
	IDs     []int    `json:"ids"`
	Texts   []string `json:"texts"`
	Offsets [][2]int `json:"offsets"`
	// Special is [m]: whether the token is a control token.
	Special []bool `json:"special"`
	// BOSAdded is whether a begin-of-text token was put in front; false of an encoder, which always
	// has its own.
	BOSAdded bool `json:"bos_added"`
}

// GeneratedToken is one token of the answer, or what the head of an encoder says at a position.
type GeneratedToken struct {
	// ID and Text are those of the token; of a class, its number and its label; without a head, the
	// text's own token.
	ID   int    `json:"id"`
	Text string `json:"text"`
	// Position is, of an encoder, the token at which it is predicted, a column of every result; nil
	// of a decoder.
	Position *int `json:"position,omitempty"`
	// Class is whether it is a class; Unscored whether there is no probability, for want of a head
	// or of a second class.
	Class       bool    `json:"class,omitempty"`
	Unscored    bool    `json:"unscored,omitempty"`
	Probability float64 `json:"probability"`
	Special     bool    `json:"special,omitempty"`
	Forced      bool    `json:"forced,omitempty"`
	// Alternatives are the most probable tokens in falling order.
	Alternatives []Alternative `json:"alternatives"`
}

// Alternative is a token that might have come instead.
type Alternative struct {
	ID          int     `json:"id"`
	Text        string  `json:"text"`
	Probability float64 `json:"probability"`
}

// Result is M[n,m,l] of one method: how much of generated token t comes from prompt token j after
// layer Layers[k].
type Result struct {
	// Options are the settings that made the numbers, by name, for provenance: heads, residual,
	// layers, row.
	Options map[string]string `json:"options"`
	// Layers are the layers that the last axis stands for, 0-based; all of them, or the top one
	// alone.
	Layers []int `json:"layers"`
	// Shape is [n,m,l] and l is len(Layers).
	Shape [3]int `json:"shape"`
	// Data is row-major; see [Result.At].
	Data []float64 `json:"data"`
	// Explained, of a scorer, is the number whose parts or changes the values are, [n]; Residue is
	// what they should add up to and do not, nil where they need not. Generated columns count.
	Explained []float64 `json:"explained,omitempty"`
	Residue   []float64 `json:"residue,omitempty"`
	// Unit says what a value is, for legends: "share of attention", "flow", "lift (1 = uniform
	// attention)".
	Unit string `json:"unit"`
}

// Made says how much of the explanation there is: "1 token", "2 tokens", "2 predictions".
func (e *Explanation) Made() string {
	what := "token"
	if e.Model.Bidirectional {
		what = "prediction"
	}
	if n := len(e.Steps); n != 1 {
		return fmt.Sprintf("%d %ss", n, what)
	}
	return "1 " + what
}
