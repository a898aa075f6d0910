package render

import (
	"cmp"
	"slices"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/study/verdict"
)

// Kind is the name of a picture.
type Kind string

// The pictures.
const (
	// KindHeatmap has a row for each generated token and a column for each prompt token; the
	// default. A page and a text of it have the coloured text as well; see [Heatmap].
	KindHeatmap Kind = "heatmap"
	// KindText is the prompt as running text in colours, for each generated token. A page and a
	// text of it are those of KindHeatmap.
	KindText Kind = "text"
	// KindLayers has a row for each layer, for some generated tokens; see [Layers].
	KindLayers Kind = "layers"
	// KindFlow is the layered graph of attention flow, for one generated token; see [Flow].
	KindFlow Kind = "flow"
	// KindCompare has two methods, or the same one of two explanations, and their difference; see
	// [Compare].
	KindCompare Kind = "compare"
	// KindHeads has a square for every attention head, and KindHead one head with the names of its
	// tokens; a page of KindHeads opens any head, so only a figure shows KindHead. See [Heads].
	KindHeads Kind = "heads"
	KindHead  Kind = "head"
	// KindMaps has a square for each of up to twelve layers, targets × sources, and KindMap one
	// layer with the names of its tokens. A page and a text of them are the same. See [Maps].
	KindMaps Kind = "maps"
	KindMap  Kind = "map"
	// KindExperts has a row for each token and a column for each layer: which expert of a mixture
	// took it. See [Experts].
	KindExperts Kind = "experts"
	// KindLens is what the model would have said after each layer where it predicts each token, or
	// with a Token, at every position of the text; see [Lens].
	KindLens Kind = "lens"
	// KindPatch is how much of the difference between two prompts each place of the model carries
	// alone; see [Patch].
	KindPatch Kind = "patch"
)

// Size is where a figure goes, which says how wide it is.
type Size string

// The sizes.
const (
	// Column is one column of a paper of two, 3.25 inches; Double is both, 6.75 inches.
	Column Size = "column"
	Double Size = "double"
	// Slide is a slide, 13.33 inches.
	Slide Size = "slide"
)

// Sizes returns the sizes.
func Sizes() []Size { return []Size{Column, Double, Slide} }

// The smallest and the largest font size of a figure, in points.
const (
	MinFont = 4
	MaxFont = 48
)

// Look is the look of a picture: the size of a figure, the colours and the caption. The zero value
// of every field is its default.
type Look struct {
	// Size is where the figure goes; default Double.
	Size Size `json:"size,omitempty"`
	// Font is the size of text in points, from 4 to 48; default 7 for Column, 8 for Double and 18
	// for Slide.
	Font float64 `json:"font,omitempty"`
	// Palette is the name of the colours, one of [PaletteNames]; default blue-rust. Pages have it
	// too.
	Palette string `json:"palette,omitempty"`
	// Caption, of at most 1,000 bytes, stands in place of the line with the model and the layers,
	// below the title of a figure and above a page, and below the title of a text; [NoCaption]
	// leaves that line out.
	Caption string `json:"caption,omitempty"`
}

// NoCaption is the caption of a picture without one.
const NoCaption = "none"

// maxCaption is the longest caption, in bytes.
const maxCaption = 1000

// Check returns a [trace.UsageError] if a size or a palette is unknown, a font is out of range or a
// caption is too long.
func (l Look) Check() error {
	if l.Size != "" && !slices.Contains(Sizes(), l.Size) {
		return trace.Usagef("unknown size %s; %s", message.Quote(string(l.Size)),
			message.KnownAre(l.Size, Sizes()))
	}
	if l.Font != 0 && !(l.Font >= MinFont && l.Font <= MaxFont) {
		return trace.Usagef("font size %v; want %d to %d points", l.Font, MinFont, MaxFont)
	}
	if len(l.Caption) > maxCaption {
		return trace.Usagef("a caption of %d bytes; at most %d", len(l.Caption), maxCaption)
	}
	return CheckPalette(l.Palette)
}

// Show describes a picture: what a cell asks for, the command parses and a file records. The zero
// value of every field is its default.
type Show struct {
	// Kind is what a picture shows; default KindHeatmap.
	Kind Kind `json:"kind,omitempty"`
	// Method is the method that figures and Inseq's format show; default the first one of the
	// explanation, and for KindMaps and KindMap the first one that has maps. For KindCompare a
	// layer of that side may stand after it, as in direct@5; see [compare.ParseSide]. A page of
	// KindHeatmap
	// or KindLayers has all methods.
	Method string `json:"method,omitempty"`
	// Against is, for KindCompare, the explanation on side B. Nil compares two methods of one
	// explanation.
	Against *attribution.Explanation `json:"-"`
	// AgainstMethod is, for KindCompare, the method of side B, also with a layer. Default: of
	// another explanation the same as Method, else the next one of the explanation.
	AgainstMethod string `json:"against_method,omitempty"`
	// Token is the generated token that KindLayers and KindFlow show, that KindText is limited to,
	// that a page of KindHeatmap, KindText or KindCompare shows first, that KindExperts frames, and
	// from whose prediction KindHeads and KindHead look; 0-based. Nil is the first one, for
	// KindText all, for a page of KindLayers several, and for other pages, KindExperts, KindHeads
	// and KindHead that of [Show.Opened].
	Token *int `json:"token,omitempty"`
	// Word is the word of the generated token in place of its number; see [Show.AtWord].
	Word string `json:"word,omitempty"`
	// Tokens are, for KindLayers, several generated tokens in place of one.
	Tokens []int `json:"tokens,omitempty"`
	// By puts prompt tokens together: "word", "sentence", "turn", or bytes of the prompt as
	// "0:8,12:23"; see [units.ParseGrouping]. A cell and its files have it; "token" saves
	// tokens one by one where the picture has words.
	By string `json:"by,omitempty"`
	// Layer is the layer whose values are shown, 0-based; of combined methods those up to it. Nil
	// is, for each token, the layer that pictures show. For KindHead it is the layer of Head, for
	// KindMap the layer shown and for KindMaps one that is among the twelve; nil is the one that
	// pictures open. For KindExperts it is the layer whose load is shown; nil is the one of the
	// sentence.
	Layer *int `json:"layer,omitempty"`
	// Head is the head that KindHead shows, 0-based. Nil is the one that pictures open.
	Head *int `json:"head,omitempty"`
	// Filter makes prompt tokens grey and leaves them out of the scale of the colours. It changes
	// no number.
	Filter attribution.Filter `json:"filter,omitzero"`
	// Source is the prompt token at the source of a flow graph, 0-based. Nil is the one with the
	// largest flow that is not the first.
	Source *int `json:"source,omitempty"`
	// Sinks draws, for KindFlow, the edges to sinks too.
	Sinks bool `json:"sinks,omitempty"`
	// Alignment draws, for KindHeatmap of a model of two stacks, which token of the source a method
	// links each token of the target with; see [attribution.Explanation.Links].
	Alignment bool `json:"alignment,omitempty"`
	// Size, Font, Palette and Caption are those of [Look].
	Size    Size    `json:"size,omitempty"`
	Font    float64 `json:"font,omitempty"`
	Palette string  `json:"palette,omitempty"`
	Caption string  `json:"caption,omitempty"`
}

// Look returns the look of the picture.
func (s Show) Look() Look { return Look{s.Size, s.Font, s.Palette, s.Caption} }

// Check returns a [trace.UsageError] if a kind or a size is unknown, a number is out of range, or
// one does not go with the kind.
func (s Show) Check() error {
	if s.Kind != "" && !slices.Contains(Kinds(), s.Kind) {
		return trace.Usagef("picture %s is unknown; %s", message.Quote(string(s.Kind)),
			message.KnownAre(s.Kind, Kinds()))
	}
	for _, number := range []struct {
		what string
		at   *int
	}{{"token", s.Token}, {"layer", s.Layer}, {"source", s.Source}, {"head", s.Head}} {
		if number.at != nil && *number.at < 0 {
			return trace.Usagef("%s %d; they count from 0", number.what, *number.at)
		}
	}
	return cmp.Or(s.checkParts(), s.Look().Check())
}

// checkParts returns an error for a number that does not go with the kind.
func (s Show) checkParts() error {
	for _, t := range s.Tokens {
		if t < 0 {
			return trace.Usagef("token %d; they count from 0", t)
		}
	}
	switch {
	case s.Tokens != nil && (s.View().Takes["tokens"] == 0 || s.Token != nil || len(s.Tokens) == 0):
		return trace.Usagef("several tokens are for a picture of %s, which then has no other "+
			"token", message.List(message.Names(KindsTaking("tokens"))))
	case s.Word != "" && (s.Token != nil || s.Tokens != nil):
		return trace.Usagef("word %s beside a number of a token; give one of the two",
			message.Quote(s.Word))
	}
	if err := s.checkTaken(); err != nil || s.View().Check == nil {
		return err
	}
	return s.View().Check(s)
}

// SetMethod names in o the method of a picture that has one of its own, unless o names methods, and
// asks for what the picture shows beside it: the options that its view sets, and for a heatmap or
// text of tokens [verdict.Auto] unless o says something else. It returns a [trace.UsageError] if an
// option that o has does not apply to it, or if o asks for verdicts, which are about tokens and the
// layer that pictures show, and s names parts or another layer.
func (s Show) SetMethod(o *attribution.Options) error {
	v := s.View()
	testable := o.By == "" && o.Target == "" && s.By == "" && s.Layer == nil
	asks := v.Proves
	prove := o.Studies[verdict.Option]
	if prove == verdict.Auto { // which asks for nothing where nothing can be shown
		prove, asks = "", v.Takes["prove"] != 0
		o.Ask(verdict.Option, "")
	}
	switch {
	case prove == "" && testable && asks:
		o.Ask(verdict.Option, verdict.Auto)
	case verdict.Asked(o) && s.By != "":
		return trace.Usagef("%s tests tokens as the model has them: leave %s out",
			trace.Called("prove"), trace.Called("by"))
	case verdict.Asked(o) && s.Layer != nil:
		return trace.Usagef("%s tests the layer that a picture shows by itself: leave %s out",
			trace.Called("prove"), trace.Called("layer"))
	}
	return v.setMethod(s, o)
}

// setMethod names in o the method of the view, unless o names methods, and sets its options.
func (v *View) setMethod(s Show, o *attribution.Options) error {
	name := v.Method
	if v.Methods == 1 {
		name = cmp.Or(s.Method, name)
	}
	chosen := name != "" && len(o.Methods) == 0
	if chosen {
		o.Methods = []string{name}
	}
	if v.Options != nil { // before the check: methods take some options for what the view asks
		if err := v.Options(s, o); err != nil {
			return err
		}
	}
	if !chosen {
		return nil
	}
	alone, err := o.For(name)
	for _, row := range attribution.OptionTable() {
		if err == nil && row.Given(o) && !row.Given(&alone) { // an error is one of o.Check as well
			return trace.Usagef("%s does nothing here: a picture of %s shows the method %s, which "+
				"does not take it", trace.Called(row.Name), s.Kind, name)
		}
	}
	return nil
}
