package attribution

import (
	"errors"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
)

// Group returns the explanation with the tokens of its prompt grouped; [Explanation.GroupSpans]
// says how values are combined. Scorers that take tokens away have taken them away one at a time;
// [Options.By] takes each span away as one. The option "by" of each result and map names the
// grouping. If the grouping leaves the tokens as they are, or they are grouped in this way already,
// Group returns e itself. It returns a [trace.UsageError] if they are grouped in another way, and
// as [units.Grouping.Of] does.
//
// By words and sentences, the first token is a span of its own in a decoder if it is a sink of a
// method or of one of its rows, [Explanation.Sinks]: its share would be that of the first sentence.
func (e *Explanation) Group(by units.Grouping) (*Explanation, error) {
	was := e.facts().By
	if by.OfTokens() || was == by.String() {
		return e, nil
	}
	if was != "" {
		return nil, trace.Usagef("the tokens are grouped by %s already, and the grouping %s needs "+
			"them one by one: explain the prompt again", was, by)
	}
	spans, err := e.spansOf(by)
	if err != nil {
		return nil, err
	}
	return e.groupBy(spans, by)
}

// spansOf returns the spans of the prompt, with the first token apart where a method rests on it.
func (e *Explanation) spansOf(by units.Grouping) ([]units.Span, error) {
	spans, err := by.Of(e.Prompt.Units(), e.restsOnFirst())
	if err != nil && !errors.Is(err, trace.ErrUsage) {
		return nil, damaged("%v", err)
	}
	return spans, err
}

// Grouped reports whether its columns are spans of several tokens, or its rows groups of generated
// tokens, so that it does not have the tokens as the model has them.
func (e *Explanation) Grouped() bool { return e.Spans() || e.facts().Target != "" }

// Spans reports whether its columns are spans of several tokens.
func (e *Explanation) Spans() bool { return e.facts().Spans }

// facts returns the facts of the first result; all results are grouped in the same way.
func (e *Explanation) facts() Facts {
	for _, method := range e.Order {
		if r := e.Methods[method]; r != nil {
			return r.Facts
		}
	}
	return Facts{}
}

// groupBy returns the explanation over spans, which are those of by.
func (e *Explanation) groupBy(spans []units.Span, by units.Grouping) (*Explanation, error) {
	g, err := e.GroupSpans(spans)
	if err != nil {
		return nil, err
	}
	// GroupSpans has made copies of the options, so e does not change.
	for _, r := range g.Methods {
		r.Options["by"], r.By = by.String(), by.String()
	}
	for _, m := range g.Maps {
		m.Options["by"], m.By = by.String(), by.String()
	}
	return g, nil
}

// restsOnFirst reports whether the first token is a sink of a method or of one of its rows in a
// decoder. Without rows it is one if a method has shares of them. The first token of a source is
// none: an encoder reads it as any other.
func (e *Explanation) restsOnFirst() bool {
	if e.Model.EncoderLayers > 0 {
		return false
	}
	for name, r := range e.Methods {
		if r == nil || !r.AddsUp || r.Scorer || e.Model.Bidirectional {
			continue
		}
		_, shares, sinks, err := e.findSinks(name, ShownLevel)
		if len(e.Steps) == 0 || err == nil && (len(sinks) > 0 && sinks[0].Position == 0 ||
			slices.Contains(e.rowSinks(r, shares, sinks), 0)) {
			return true
		}
	}
	return false
}
