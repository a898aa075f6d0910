// Package figures makes the figures and tables of the four documents that Headwater is about, each
// with a verdict on what its document claims:
//
//   - s0, generative attention rollout (Deb 2022, a note)
//   - s1, attention flow (Abnar and Zuidema 2020)
//   - s2, Value Zeroing (Mohebbi et al. 2023)
//   - s3, attention focus plots (Claus, a web page)
//
// [All] lists them, and [Make] makes one:
//
//	f, err := figures.Lookup("s0-matrix")
//	r, err := figures.Make(ctx, f, model, figures.Options{})
//
// A check compares what came out with what the document states or with the direction that it
// claims. No threshold is fitted to the outcome: an expectation that fails is reported as
// differing. The file verdicts.json records for the default models what came out and, for what
// differs, the reason that somebody found who looked at the figure; see [Recorded].
//
// A figure that does not fit a model is left out with the reason in
// [reproduction.Reproduction.LeftOut]: the model lacks a part, such as a mask token, has other
// classes than the figure's sentences, or a context that is too short for them.
package figures

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution/focus"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/reproduction"
	"github.com/headwater-ml/headwater/models/spec"
)

// Figure is a figure or a table of a document.
type Figure struct {
	reproduction.Head
	// Model is the embedded model that it runs on unless another one is named.
	Model string `json:"model"`
	// Needs are the parts that a model must have.
	Needs []Need `json:"needs"`
	// ForDecoders names the figure that asks the same of decoders; empty if there is none.
	ForDecoders string `json:"for_decoders"`
	// Choices are what a name of the figure can choose, such as layer: "s3-fig1,layer=3,head=2".
	// Without them the figure shows what its document shows, or what is nearest to that.
	Choices []string `json:"choices"`
	chosen  map[string]int
	make    func(*run) error
}

// Need is a part of a model that a figure needs.
type Need string

// The needs.
const (
	// Decoder is a model that generates text; Encoder is one that reads it in both directions.
	Decoder Need = "a model that generates text"
	Encoder Need = "an encoder"
	// MaskToken is a head that predicts masked tokens; Classifier is one that predicts a class.
	MaskToken  Need = "a head for masked tokens"
	Classifier Need = "a head for classes of texts"
	// ALiBi is attention with linear biases as its positions.
	ALiBi Need = "ALiBi positions"
)

// has reports whether a model has a part.
func (n Need) has(m trace.Model) bool {
	info := m.Info()
	switch n {
	case Decoder:
		return !info.Reads()
	case Encoder:
		return info.Bidirectional
	case MaskToken:
		return info.Head == trace.MaskedToken
	case Classifier:
		return info.Head == trace.Classes
	case ALiBi:
		s, ok := m.(interface{ Spec() *spec.Spec })
		return ok && s.Spec().Positions == spec.ALiBi
	}
	return false
}

// Options are the settings of [Make].
type Options struct {
	// Reduced takes a small sample where a figure has many sentences.
	Reduced bool
	// Progress, if not nil, is called during long work.
	Progress func(trace.Progress)
}

// figureList describes all figures in the order of the documents: where each stands, what it
// claims, and which model it runs on.
//
//go:embed figures.json
var figureList []byte

// makers make the figures, by their id.
var makers = map[string]func(*run) error{
	"s0-matrix": generativeMatrix,
	"s0-slices": generativeSlices,
	"s0-mass":   generativeMass,
	"s0-filter": generativeFilter,
	"s0-lift":   generativeLift,
	"s0-caveat": generativeCaveat,
	"s0-depth":  generativeDepth,

	"s1-fig1":      layerGraphs,
	"s1-appendix":  headRollouts,
	"s1-fig2":      rawMaps,
	"s1-fig3":      rolledMaps,
	"s1-fig4":      pronouns,
	"s1-table1":    table1.make,
	"s1-table2":    table2.make,
	"s1-table3":    table3.make,
	"s1-growth":    growth,
	"s1-gradients": adjustedRollout,

	"s2-grid":                 zeroingGrid,
	"s2-methods":              zeroingMethods,
	"s2-rollout":              zeroingRollout,
	"s2-cue":                  cueAlignment,
	"s2-faithfulness":         zeroingFaithfulness,
	"s2-probing":              zeroingProbing,
	"s2-cue-decoder":          nextCues,
	"s2-faithfulness-decoder": nextFaithfulness,
	"s2-probing-decoder":      nextProbing,

	"s3-fig1":      focusMap,
	"s3-fig2":      focusBreakdown,
	"s3-fig3":      focusBias,
	"s3-published": focusPublished,
	"s3-fig4":      focusLines(focus.SelfFraction, focus.SelfContinuous),
	"s3-fig5":      focusLines(focus.FirstFraction),
	"s3-fig6":      focusLines(focus.Concentration),
	"s3-fig7":      focusMagnitude,
	"s3-fig8":      focusAlignment,
	"s3-fig9":      focusScatter,
	"s3-fig10":     focusEffect,
}

// All returns all figures in the order of the documents.
func All() []Figure {
	var all []Figure
	if err := json.Unmarshal(figureList, &all); err != nil {
		panic(fmt.Sprintf("figures: figures.json: %v", err)) // a test reads it
	}
	for i, f := range all {
		all[i].make = makers[f.ID]
	}
	return all
}

// IDs returns the names of all figures.
func IDs() []string {
	var ids []string
	for _, f := range All() {
		ids = append(ids, f.ID)
	}
	return ids
}

// Find returns the figures that have one of the names: an id such as s1-fig2, a document such as
// s1, or an id with choices such as "s3-fig1,layer=3,head=2". No name means all figures. The error
// lists the known names or choices.
func Find(names ...string) ([]Figure, error) {
	if len(names) == 0 {
		return All(), nil
	}
	wanted := map[string][]Figure{} // by the id without choices
	for _, given := range names {
		found := false
		name, settings, chooses := strings.Cut(given, ",")
		for _, f := range All() {
			document, _, _ := strings.Cut(f.ID, "-")
			if name != f.ID && (name != document || chooses) {
				continue
			}
			one, err := f, error(nil)
			if chooses {
				if one, err = f.choose(strings.Split(settings, ",")); err != nil {
					return nil, err
				}
			}
			found = true
			if !slices.ContainsFunc(wanted[f.ID], func(g Figure) bool { return g.ID == one.ID }) {
				wanted[f.ID] = append(wanted[f.ID], one)
			}
		}
		if !found {
			known := append([]string{"s0", "s1", "s2", "s3"}, IDs()...)
			return nil, &trace.UsageError{Package: "figures", Reason: fmt.Sprintf(
				"figure %.60q is unknown; %s", name, message.KnownAre(name, known))}
		}
	}
	var some []Figure
	for _, f := range All() {
		some = append(some, wanted[f.ID]...)
	}
	return some, nil
}

// Make makes a figure on a model. A figure that does not fit the model is left out, which is not an
// error; see [reproduction.Reproduction.LeftOut]. The error is one of the model, or wraps
// ctx.Err().
func Make(
	ctx context.Context, f Figure, m trace.Model, o Options,
) (*reproduction.Reproduction, error) {
	info := m.Info()
	out := &reproduction.Reproduction{
		Head: f.Head, Model: info.Name, Hash: info.Hash, Backend: info.Backend,
	}
	if info.Boundary() >= 0 {
		return omit(f, info, fmt.Sprintf("it is about a text in one stack, and %s has two",
			info.Name)), nil
	}
	for _, n := range f.Needs {
		if !n.has(m) {
			has := "has none"
			if n == Decoder || n == Encoder {
				has = "is not one"
			}
			reason := fmt.Sprintf("it needs %s, and %s %s", n, info.Name, has)
			if n == Encoder && f.ForDecoders != "" {
				reason += fmt.Sprintf("; %s asks the same of decoders", f.ForDecoders)
			}
			return omit(f, info, reason), nil
		}
	}
	r := &run{ctx: ctx, m: m, info: info, o: o, chosen: f.chosen, out: out}
	if err := f.make(r); err != nil {
		if l := (*lack)(nil); errors.As(err, &l) {
			return omit(f, info, l.reason), nil
		}
		return nil, fmt.Errorf("%s: %w", f.ID, err)
	}
	explainDifferences(f, out)
	return out, nil
}
