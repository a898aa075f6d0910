package attribution

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
	"github.com/headwater-ml/headwater/internal/message"
)

// Version is the version of the JSON form of an [Explanation].
const Version = 1

// Options are the settings of an explanation. The zero value of every field is its
// default.
type Options struct {
	// Methods are names of registered methods, in the order shown, or [Classic]. Default:
	// [DefaultMethods] of the model.
	Methods []string `json:"methods,omitempty"`
	// MaxTokens is the largest number of tokens to generate, in [1,4096]. Default 16. It cannot be
	// combined with Continuation.
	MaxTokens int `json:"max_tokens,omitempty"`
	// Continuation, if not empty, is explained instead of text that the model chooses. It cannot be
	// combined with MaxTokens or Sampling.
	Continuation string `json:"continuation,omitempty"`
	// Positions are, for models that read, the tokens whose predictions are explained, 0-based, in
	// this order and each once; for question answering a start and an end. Default: those of
	// [trace.Ask]. A model that reads does not accept MaxTokens, Continuation and Sampling;
	// a model that generates does not accept Positions and Pair.
	Positions []int `json:"positions,omitempty"`
	// Pair, if not empty, is a second text that the model reads after the prompt, as its tokenizer
	// joins two texts: the context of a question, the document of a query, the second sentence of
	// two.
	Pair string `json:"pair,omitempty"`
	// By groups the tokens of the prompt into spans, as [ParseGrouping] reads: every result has a
	// column for each span. Values are put together as [Explanation.Group] says, but for scorers
	// with [scorer.Info.Together], which take the tokens of a span away as one.
	By string `json:"by,omitempty"`
	// Target groups generated tokens, as [ParseTarget] reads: a row then explains a word, a
	// sentence or the whole answer. Text that it does not name has a row for each stretch between,
	// so that no part of the answer is missing as a source. Values of a row are sums over its
	// tokens, or their highest where they do not add up, as those of flow and lift; scorers with
	// [scorer.Info.Together] take earlier groups away as one, and where the scorer's own quantity
	// is the probability it is the log-probability, whose sum is that of the whole group. OnStep is
	// then called at the end alone. An encoder does not accept it.
	Target string `json:"target,omitempty"`
	// Specials reports whether begin-of-text is added to the prompt.
	Specials trace.Specials `json:"specials,omitempty"`
	// From and To are, for a model that translates, the languages of the prompt and of what is
	// generated, by the names that the tokenizer has for them: "fr_XX", "fra_Latn", or the part
	// before the underscore where it is clear. Default: what the files of the model say.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Chat puts the prompt into the model's chat template, as the words of a user, and explains the
	// answer. The control tokens of the template are prompt tokens like others, marked as special.
	Chat bool `json:"chat,omitempty"`
	// Conversation is what comes before the prompt, and what the chat template needs besides: a
	// system message, earlier turns, tools, variables. Any of these turns Chat on. The prompt is
	// what the user says last; it may be empty if the last message is to be answered.
	Conversation trace.Conversation `json:"conversation,omitzero"`
	// Sampling is how tokens are chosen; greedy by default.
	Sampling trace.Sampling `json:"sampling,omitzero"`
	// Alternatives is the number of alternatives listed for each token, in [1,1000]. Default 5.
	Alternatives int `json:"alternatives,omitempty"`
	// Heads is how attention heads are fused before aggregation; mean by default.
	Heads trace.Heads `json:"heads,omitzero"`
	// PerHead, if not nil, explains by one head, 0-based. The heads of the layers below are merged
	// by their mean (Abnar and Zuidema 2020, appendix A.1): R_l^h = Â_l^h R_{l-1}.
	PerHead *int `json:"per_head,omitempty"`
	// Residual is the weight r of the residual connection, Â = rownorm((1-r)C + rI), in [0,1]; nil
	// is each method's default. It does not apply to mixings that contain the residual.
	Residual *float64 `json:"residual,omitempty"`
	// FirstLayer and LastLayer limit aggregation to layers FirstLayer..LastLayer, 0-based and
	// inclusive; LastLayer nil is the last layer.
	FirstLayer int  `json:"first_layer,omitempty"`
	LastLayer  *int `json:"last_layer,omitempty"`
	// AllLevels computes the flow after every layer, not only after the top one, at L times the
	// cost. One of the methods must aggregate by flow.
	AllLevels bool `json:"all_levels,omitempty"`
	// AllLayers computes methods that cost an evaluation of the rest of the block for every source,
	// such as Value Zeroing, in every layer of generated text, not only in the layer shown, at L
	// times the cost. Other methods have every layer anyway. With Target, a row of tokens that have
	// different layers shown has every layer too, and not those shown alone.
	AllLayers bool `json:"all_layers,omitempty"`
	// Threshold sets value-zeroing distances below it to 0. Default 0; 1e-5 for parity with Inseq.
	Threshold float64 `json:"threshold,omitempty"`
	// DropSink removes the first source from every row and divides the rest by its sum, before
	// layers are combined.
	DropSink bool `json:"drop_sink,omitempty"`
	// Discard, ρ in [0,1), sets the lowest entries of each layer to 0 before the residual is added.
	// In a decoder it does so row by row, the lowest ⌊ρ(i+1)⌋ of the i+1 entries of row i, so that
	// rows do not change when the text grows. In an encoder it uses the whole map, the lowest ⌊ρT²⌋
	// of T² entries, as vit-explain does. The first entry, of the row or of the map, always stays.
	Discard float64 `json:"discard,omitempty"`
	// Contrast is, for scorers, the text of one token or the name of a class. They then explain why
	// the model predicted its token and not this one. It applies to every token explained.
	Contrast string `json:"contrast,omitempty"`
	// Foils is the number of next most probable tokens or classes whose mean logit is subtracted
	// from that of the prediction, in [0,100], to explain why it came and not one of these. Default
	// 5, for the layer that a picture shows ([Result.Shown]), heads, the lens, and classes by
	// scorers with [scorer.Info.Foils]; those explain a token without. It is 0 with a Contrast.
	Foils *int `json:"foils,omitempty"`
	// Scoring has the options of scorers.
	Scoring scorer.Options `json:"scoring,omitzero"`
	// Studies asks for what is computed beside the methods, each setting as text by its name in
	// [OptionTable]: {"lens": "answer"}, {"prove": "all"}. Package study has those of this project.
	Studies Studies `json:"studies,omitempty"`
	// Lift divides every value by what uniform attention over visible tokens gives at the same
	// place.
	Lift bool `json:"lift,omitempty"`

	// Edits change what the model computes. The answer is generated, and everything is computed,
	// under them. Methods that are not are refused, and are left out of the default ones; see
	// [trace.Edit].
	Edits []trace.Edit `json:"edits,omitempty"`

	// Opens, if not nil, returns the generated token that a picture of an explanation opens at, for
	// studies of that token, -1 if it has none; nil is the first one.
	Opens func(*Explanation) int `json:"-"`
	// OnStep, if not nil, is called after every generated token with the explanation so far, which
	// it must not keep or change. OnProgress, if not nil, is called during long work between
	// tokens.
	OnStep     func(*Explanation)   `json:"-"`
	OnProgress func(trace.Progress) `json:"-"`
}

// InChat reports whether the prompt is put into the model's chat template.
func (o Options) InChat() bool { return o.Chat || o.Conversation.Asked() }

// Explanation is the result of [Explain]: the tokens and, for each method, where every generated
// token came from. There are n generated tokens and m prompt tokens. An encoder generates nothing:
// its n tokens are its predictions at n positions of the text.
type Explanation struct {
	// Version is [Version]; Model is the model explained; Prompt is the text that was given.
	Version int        `json:"version"`
	Model   trace.Info `json:"model"`
	Prompt  Prompt     `json:"prompt"`
	// Steps are the n generated tokens, or an encoder's n predictions, in order.
	Steps []GeneratedToken `json:"steps"`
	// Order has the names of the methods in the order of [Options.Methods].
	Order []string `json:"order"`
	// Methods has the result of each method by name.
	Methods map[string]*Result `json:"methods"`
	// Maps has, for encoders, every target's row by method, [L,m,m]; a prediction's row in Methods
	// is row Position of the map. A method whose map would take too long has no entry, and one
	// whose map would be too large has only the top level; a warning says so. Nil for decoders.
	Maps map[string]*Map `json:"maps,omitempty"`
	// Studies has what studies found of the text, by their names, nil without any.
	Studies Findings `json:"studies,omitempty"`
	// Edited tells in words how the model was edited, "" if it was not. Edits are the edits, whose
	// places count from the start of the prompt.
	Edited string       `json:"edited,omitempty"`
	Edits  []trace.Edit `json:"-"`
	// Warnings are remarks for the user, one sentence each.
	Warnings []string `json:"warnings"`
	// Origin says how it was made, as files do that are saved of it, so that they can be made
	// again: it is there in a notebook and in what such a file has. Nil if nobody noted it.
	Origin json.RawMessage `json:"headwater,omitempty"`
}

// Prompt is the m tokens that the user gave, column j of every result.
type Prompt struct {
	// Text is the whole text, with the chat template if there is one.
	Text string `json:"text"`
	// IDs, Texts and Offsets are [m]; an offset is the byte range [begin,end) in Text, [0,0] for an
	// added special token.
	IDs     []int    `json:"ids"`
	Texts   []string `json:"texts"`
	Offsets [][2]int `json:"offsets"`
	// Special is [m]: whether the token is a control token.
	Special []bool `json:"special"`
	// BOSAdded reports whether a begin-of-text token was put before the prompt. It is false for
	// encoders, which always have their own.
	BOSAdded bool `json:"bos_added"`
	// Second is the byte of Text at which the second text of a pair begins; 0 if there is one text.
	// Types are the token types of a pair, [m], nil if all are 0.
	Second int   `json:"second,omitempty"`
	Types  []int `json:"types,omitempty"`
	// Parts are the parts of Text if it is a conversation that a chat template wrote, in order and
	// without gaps; nil otherwise.
	Parts []trace.Part `json:"parts,omitempty"`
	// Strongest is, in an explanation over spans, for each span the word in it of which a method
	// says most, "" if none stands out; see [Explanation.GroupSpans]. Nil otherwise.
	Strongest []string `json:"strongest,omitempty"`
	// Tokens are, in an explanation over spans, the tokens of each span, columns of the explanation
	// that was grouped. Nil otherwise, and in one that was read from JSON.
	Tokens [][]int `json:"-"`
	// Words are, in an explanation over words, the word of each span without other marks that its
	// tokens have, "" for what stands between words. Nil otherwise, and in one from JSON.
	Words []string `json:"-"`
}

// Units returns the tokens of the prompt, to divide them into words, sentences, turns or ranges.
func (p *Prompt) Units() units.Tokens {
	return units.Tokens{
		Text: p.Text, Texts: p.Texts, Offsets: p.Offsets, Special: p.Special, Parts: p.Parts,
	}
}

// Placed reports whether the prompt has a place in its text for each token, as one has that a
// tokenizer divided, and a file may not.
func (p *Prompt) Placed() bool {
	return len(p.IDs) == len(p.Texts) && p.Units().Check() == nil
}

// Lacks reports whether column j is of a token that only the other side of a comparison has, for
// which a prompt that was put beside another one has the id -1.
func (p *Prompt) Lacks(j int) bool { return j < len(p.IDs) && p.IDs[j] < 0 }

// First returns the column of the first token of the prompt.
func (p *Prompt) First() int {
	return max(slices.IndexFunc(p.IDs, func(id int) bool { return id >= 0 }), 0)
}

// TargetBegin returns the column of the token with which the target begins in the text of a model
// of two stacks, before which the source stands; -1 for other models.
func (e *Explanation) TargetBegin() int {
	ids := e.Prompt.IDs[:min(len(e.Prompt.IDs), len(e.Prompt.Texts))] // more in a damaged file
	return e.Model.TargetBegin(ids)
}

// FirstRead returns the column of the first token that a decoder reads, which sees no other: that
// of the prompt or, of two stacks, of the target; -1 for encoders.
func (e *Explanation) FirstRead() int {
	switch {
	case e.Model.Bidirectional:
		return -1
	case e.Model.EncoderLayers > 0:
		return e.TargetBegin()
	}
	return e.Prompt.First()
}

// GeneratedToken is one token of the answer, or an encoder's prediction at a position.
type GeneratedToken struct {
	// ID and Text are the token's. For a class they are its number and its label; for a model
	// without a head they are the text's own token.
	ID   int    `json:"id"`
	Text string `json:"text"`
	// Position is, for encoders, the position of the prediction, a column of every result; nil for
	// decoders, and where the mean of all tokens is read, see [trace.Info.MeanPooled].
	Position *int `json:"position,omitempty"`
	// Class reports whether it is a class and not a token. Unscored reports whether there is no
	// probability, because the model has no head or only one class.
	Class    bool `json:"class,omitempty"`
	Unscored bool `json:"unscored,omitempty"`
	// Probability is the model's own, in [0,1]. Special reports whether it is a control token;
	// Forced that the caller gave it.
	Probability float64 `json:"probability"`
	Special     bool    `json:"special,omitempty"`
	Forced      bool    `json:"forced,omitempty"`
	// IDs are, with [Options.Target], the ids of the generated tokens that are explained together;
	// ID is then the first, Text all of them, and Probability that of all, one after the other.
	// Rest reports whether the target does not name them.
	IDs  []int `json:"ids,omitempty"`
	Rest bool  `json:"rest,omitempty"`
	// Tokens are, of tokens that are explained together, the rows [begin,end) of the explanation
	// that was grouped. [0,0] otherwise, and in one that was read from JSON.
	Tokens [2]int `json:"-"`
	// Word is, of tokens that are a word, the word as in [Prompt.Words].
	Word string `json:"-"`
	// Alternatives are the most probable tokens, the most probable first.
	Alternatives []Alternative `json:"alternatives"`
	// Scores are its entropy, surprisal and rank. They are nil where there is no distribution of
	// which the token is one, for several tokens, and where one of the numbers would be infinite.
	Scores *trace.TokenScores `json:"scores,omitempty"`
	// Studies has what studies found of the token, by their names, nil without any.
	Studies Findings `json:"studies,omitempty"`
}

// Alternative is a token that the model could have chosen, with its probability in [0,1].
type Alternative struct {
	ID          int     `json:"id"`
	Text        string  `json:"text"`
	Probability float64 `json:"probability"`
}

// Result is M of one method: how much of generated token t comes from source j after layer
// Layers[k].
type Result struct {
	// Options has the settings by which the numbers were computed, in words, by name: heads,
	// residual, layers, row.
	Options map[string]string `json:"options"`
	// Facts are what programs decide by.
	Facts `json:"facts"`
	// Layers are the layers of the last axis, 0-based: all of them, or only the top one; or
	// [LayerByToken] alone, where each token has only the layer in Shown. See [Result.Layer]. It is
	// [LayerByToken] in Shown, too, where tokens of one target have different layers.
	Layers []int `json:"layers"`
	// Shape is [n,m,l] and l is len(Layers).
	Shape [3]int `json:"shape"`
	// Rows are, [n·l][m+q], what each token has of every source at each level: row t·l+k is that of
	// token t at level k; see [Result.Row]. The sources are the m prompt tokens and the q generated
	// tokens before t. With [Options.Target] a row has its own
	// group too: what later tokens of it have from earlier ones. An encoder has no generated
	// tokens. Where only some of the generated tokens are compared, none of them is a source.
	Rows [][]float64 `json:"rows"`
	// OtherMass is, [n,l], the sum of each row over generated tokens, 0 for encoders. Rows alone do
	// not give it where they are lifted, because lifted values cannot be added up, where tokens are
	// grouped by their highest value ([Options.Target]), and where generated tokens are left out
	// because only some are compared.
	OtherMass []float64 `json:"other_mass"`
	// Shown is, [n], the layer that a picture of each token shows, 0-based. It is the last one of
	// Layers, except where every level is one layer alone. There it is the layer that wrote most of
	// the prediction's logit, against the foils or the contrast:
	//
	//	argmax_l Σ_s max(0, Δ_l[s])
	//
	// over sources s that are neither the first token nor a control token, with Δ as in the scorer
	// direct. It is the last layer if [Options] name layers, or the model cannot say.
	Shown []int `json:"shown"`
	// Explained is, for scorers, the number that the values explain, [n]. Residue is what is left
	// of it when the values of a token are added up, generated columns included, [n]; nil if they
	// need not add up.
	Explained []float64 `json:"explained,omitempty"`
	Residue   []float64 `json:"residue,omitempty"`
	// Unit describes a value, for legends: "share of attention", "flow", "lift (1 = uniform
	// attention)".
	Unit string `json:"unit"`
}

// TokenIDs returns the ids of the text: of the prompt and, for a decoder, of the generated tokens.
// A span of the prompt has the id of its first token alone.
func (e *Explanation) TokenIDs() []int {
	ids := slices.Clone(e.Prompt.IDs)
	if !e.Model.Reads() {
		for _, g := range e.Steps {
			ids = append(ids, g.TokenIDs()...)
		}
	}
	return ids
}

// Traced returns a tracer that records the text of e with m, with the token types of a pair
// and under its edits. It returns a [trace.UsageError] if there are any and m cannot be told them.
func (e *Explanation) Traced(m trace.Tracer) (trace.Tracer, error) {
	switch run, can := m.(trace.EditTracer); {
	case e.Edited != "" && (!can || e.Edits == nil || e.Prompt.Types != nil):
		return nil, trace.Usagef("what an edited model computes cannot be recorded here: explain " +
			"again, one text and no pair")
	case e.Edited != "":
		return editedTracer{run, e.Edits, e.Model}, nil
	case e.Prompt.Types == nil:
		return m, nil
	}
	typed, ok := m.(trace.TypedTracer)
	if !ok {
		return nil, trace.Usagef("the attention of a pair of texts cannot be recorded here, " +
			"because its token types are not passed on; the command headwater can")
	}
	return typedTracer{typed, e.Prompt.Types, e.Model}, nil
}

// editedTracer records a text under edits.
type editedTracer struct {
	m     trace.EditTracer
	edits []trace.Edit
	info  trace.Info
}

// Info describes the model.
func (t editedTracer) Info() trace.Info { return t.info }

// Trace implements [trace.Tracer].
func (t editedTracer) Trace(
	ctx context.Context, ids []int, taps []trace.Tap,
) ([]trace.Tensor, error) {
	return t.m.Run(ctx, ids, taps, trace.EditsWithin(t.edits, len(ids)))
}

// typedTracer records a text with its token types.
type typedTracer struct {
	m     trace.TypedTracer
	types []int
	info  trace.Info
}

// Info describes the model.
func (t typedTracer) Info() trace.Info { return t.info }

// Trace implements [trace.Tracer].
func (t typedTracer) Trace(
	ctx context.Context, ids []int, taps []trace.Tap,
) ([]trace.Tensor, error) {
	return t.m.TraceTypes(ctx, ids, t.types, taps)
}

// TokenIDs returns the ids of the generated tokens that are explained together, or of the only one.
func (g GeneratedToken) TokenIDs() []int {
	if g.IDs != nil {
		return g.IDs
	}
	return []int{g.ID}
}

// LayersThatWrote returns, for each generated token, the layer whose attention wrote most of its
// logit, [n]: the layers of [Result.Shown],
//
//	argmax_l Σ_s max(0, Δ_l[s])
//
// of the first method whose facts say that it chose them so. It is nil if there is none, or if all
// are the last layer, which is also what a method shows where the model cannot tell.
func (e *Explanation) LayersThatWrote() []int {
	last := e.Model.Layers - 1
	for _, name := range e.Order {
		r := e.Methods[name]
		if r != nil && r.LayerChosen && len(r.Shown) == len(e.Steps) &&
			slices.ContainsFunc(r.Shown, func(l int) bool { return l != last }) {
			return r.Shown
		}
	}
	return nil
}

// Made returns how much of the explanation there is so far: "1 token", "2 tokens", "2 predictions".
func (e *Explanation) Made() string { return message.Count(len(e.Steps), e.shown()) }

// shown is the name of what a row explains.
func (e *Explanation) shown() string {
	if e.Model.Reads() {
		return "prediction"
	}
	return "token"
}

// newPrompt returns the prompt in the form of an explanation.
func newPrompt(text string, tokens []trace.Token) Prompt {
	p := Prompt{Text: text}
	for _, t := range tokens {
		p.IDs = append(p.IDs, t.ID)
		p.Texts = append(p.Texts, t.Text)
		p.Offsets = append(p.Offsets, [2]int{t.Begin, t.End})
		p.Special = append(p.Special, t.Special)
		p.Types = append(p.Types, t.Type)
	}
	if !slices.ContainsFunc(p.Types, func(k int) bool { return k != 0 }) {
		p.Types = nil
	}
	return p
}

// answers are the positions [begin,end) of the second text's tokens, where the answer to a question
// is; the zero value for one text.
func (p *Prompt) answers() (within [2]int) {
	for j := range p.IDs {
		if p.InSecond(j) {
			if within[1] == 0 {
				within[0] = j
			}
			within[1] = j + 1
		}
	}
	return within
}

// InSecond reports whether token j belongs to the second text of a pair. A control token that the
// tokenizer added belongs to neither.
func (p *Prompt) InSecond(j int) bool {
	return p.Second > 0 && j < len(p.Offsets) && p.Offsets[j][0] >= p.Second
}
