// Package focus measures what the attention of each head looks at and what it changes: the
// quantities of the ten figures of "Attention Focus Plots" (Rene Claus).
//
//	tensors, err := model.Trace(ctx, ids, focus.Taps(focus.Scores))
//	if err != nil {
//		return err
//	}
//	text, err := focus.New(tensors, focus.Options{})
//	if err != nil {
//		return err
//	}
//	head, err := text.Head(14, 17)
//	if err != nil {
//		return err
//	}
//	for _, m := range head.Markers() {
//		fmt.Println(m.Target, m.Source, m.Rank, m.Kind(), m.Probability)
//	}
//
// # Parts
//
//   - [New] takes tensors of one text by their names, from a model or from any other program, and
//     checks them. [Record] asks a model for them.
//   - [Text.Head] gives the rows of one head: probabilities, the three terms of each score, ranks.
//     [Head.Markers], [Head.Breakdown] and [Biases] are Figures 1, 2 and 3.
//   - [Lines] averages one number of every head over texts and sorts the heads of each layer:
//     Figures 4, 5 and 6.
//   - [Text.Updates] compares what a head adds to the residual stream with what it finds there:
//     Figures 7, 8 and 9. [Text.Effects] is Figure 10.
//
// # The three terms
//
// The score of target i and source j, before the softmax, is a sum of three terms:
//
//	content     (W_q u_i)·k_j/√E    depends on both tokens; the document's "Attention"
//	query-bias  b_q·k_j/√E          depends on the source alone; the document's "Bias"
//	alibi       m_h·j               the position of the source times the slope of the head
//
// u is the normed residual stream and k the keys, with their bias. Rotary positions turn query and
// key first, so query-bias is then (R_i b_q)·(R_j k_j)/√E and depends on both. Learned positions
// are inside u. A term that a model does not have is 0. Falcon divides alibi by √E; BLOOM and the
// numbers of the document do not. Anything that is added to a whole row changes no probability, so
// only differences within a row mean something.
//
// # Words
//
// As in the rest of this project a target is a row, the token that looks, and a source is a
// column, the token that is looked at. The document calls the source a target token and the target
// the current token. [IndexCurrent] and [IndexTarget] keep its words, because its published files
// do. Layers, heads and positions count from 0.
//
// # Limits
//
// A single text shows the behaviour of a head on that text. The source with the largest
// probability says nothing about the rest of a row, which may be spread over many sources.
package focus

import (
	"fmt"
	"math"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("focus")

// Together is, in the place of a head's number, all heads of a layer: the mean of their
// probabilities, and the sum of what they add to the residual stream.
const Together = -1

// Options has what the tensors of [New] do not say themselves. The zero value is a decoder's text.
type Options struct {
	// Bidirectional reports whether every target sees every source, as in an encoder. Otherwise a
	// target sees its own position and those before it, and numbers of later sources are ignored.
	// It is not needed with attention, whose later entries are 0 in a decoder.
	Bidirectional bool
	// Sinks reports whether rows of attention may sum to less than 1; see [trace.Info]. Scores do
	// not have those of sinks, so attention is then needed. With attention that has such a row, it
	// is not needed itself.
	Sinks bool
	// Float64 has the numbers of the tensors, by name, whose Data are not float32 but these.
	Float64 map[string][]float64
}

// Text is one text with the tensors that are known of it. It is made by [New], does not change and
// is safe for concurrent use.
type Text struct {
	// Layers, Heads, Targets and Sources are L, H, T and S. A text with fewer targets than sources
	// has the rows of its last T tokens.
	Layers, Heads, Targets, Sources int
	// Bidirectional reports whether every target sees every source.
	Bidirectional bool
	// Sinks reports whether rows of attention sum to less than 1: they are not divided by their
	// sums, and probabilities of a target lack the part of the sink.
	Sinks bool

	width, headWidth int // D and E; 0 if no tensor has them

	// The tensors that are known, nil if not: terms [L,H,3,T,S], scores and attention [L,H,T,S],
	// value [L,H,S,E], context [L,H,T,E], headOutput and headAdded [L,H,T,D],
	// valueOutput [L,H,S,D], outputWeight [L,H,E,D], hidden [L or L+1,T,D].
	tensors map[string]floats
}

// firstTarget is the position of target 0.
func (t *Text) firstTarget() int { return t.Sources - t.Targets }

// visible returns how many of the first sources target i may see. A window may hide some of them:
// their probability is then 0.
func (t *Text) visible(i int) int {
	if t.Bidirectional {
		return t.Sources
	}
	return t.firstTarget() + i + 1
}

// checkHead returns a usage error for a layer or head that does not exist.
func (t *Text) checkHead(l, h int) error {
	if err := t.checkLayer(l); err != nil {
		return err
	}
	if h != Together && (h < 0 || h >= t.Heads) {
		return usagef("head %d; there are %d, and they count from 0", h, t.Heads)
	}
	return nil
}

// checkLayer returns a usage error for a layer that does not exist.
func (t *Text) checkLayer(l int) error {
	if l < 0 || l >= t.Layers {
		return usagef("layer %d; there are %d, and they count from 0", l, t.Layers)
	}
	return nil
}

// heads returns the heads that h stands for: itself, or all.
func (t *Text) heads(h int) (first, n int) {
	if h == Together {
		return 0, t.Heads
	}
	return h, 1
}

// row returns row i of head h in layer l of a tensor [L,H,rows,width]. It aliases the tensor.
func (t *Text) row(name string, l, h, i, rows, width int) floats {
	at := ((l*t.Heads+h)*rows + i) * width
	return t.tensors[name].part(at, at+width)
}

// probability fills dst, [S], with the probabilities of target i: the tensor attention where it is
// known, each row divided by its sum unless there are sinks, otherwise the softmax of the scores. h
// may be [Together].
func (t *Text) probability(dst []float64, l, h, i int) {
	seen := t.visible(i)
	if h != Together && !t.has(attentionTensor) {
		t.score(dst, l, h, i)
		softmax(dst[:seen])
		return
	}
	clear(dst)
	if h != Together {
		sum := 0.0
		row := t.row(attentionTensor, l, h, i, t.Targets, t.Sources)
		for j, p := range row.part(0, seen).all() {
			dst[j] = p
			sum += p
		}
		for j := range seen {
			if !t.Sinks {
				dst[j] /= sum
			}
		}
		return
	}
	one := make([]float64, len(dst))
	for h := range t.Heads {
		t.probability(one, l, h, i)
		for j, p := range one {
			dst[j] += p / float64(t.Heads)
		}
	}
}

// score fills dst, [S], with the scores of target i: the tensor scores where it is known, otherwise
// the sum of the terms. Later sources, which it does not see, get 0. The tensor scores may have
// -Inf for other sources that it does not see.
func (t *Text) score(dst []float64, l, h, i int) {
	clear(dst)
	seen := t.visible(i)
	if t.has(scoresTensor) {
		row := t.row(scoresTensor, l, h, i, t.Targets, t.Sources)
		for j, s := range row.part(0, seen).all() {
			dst[j] = s
		}
		return
	}
	for k := range NumTerms {
		for j, s := range t.term(k, l, h, i).part(0, seen).all() {
			dst[j] += s
		}
	}
}

// term returns term k of target i, [S]. It aliases the tensor.
func (t *Text) term(k Term, l, h, i int) floats {
	at := (((l*t.Heads+h)*int(NumTerms)+int(k))*t.Targets + i) * t.Sources
	return t.tensors[termsTensor].part(at, at+t.Sources)
}

// softmax replaces scores by their softmax. That of -Inf is 0; one of the scores must be finite.
func softmax(row []float64) {
	top, sum := slices.Max(row), 0.0
	for j, s := range row {
		row[j] = math.Exp(s - top)
		sum += row[j]
	}
	for j := range row {
		row[j] /= sum
	}
}

// usagef returns an error that the caller avoids by asking for something else.
func usagef(format string, args ...any) error {
	return &trace.UsageError{Package: "focus", Reason: fmt.Sprintf(format, args...)}
}
