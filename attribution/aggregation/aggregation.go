// Package aggregation combines the layers of a model: from rows that say how each layer mixes
// positions, it computes how much each token of a text comes from each other one.
//
// An [Aggregation] is a plugin. [Register] adds one by name, and a method of package attribution
// pairs it with a mixing. Built in are
//
//	layer    each layer alone
//	rollout  the product of all layers (Abnar and Zuidema 2020, §3)
//	flow     maximum flow through the layered graph (ibid.); package maxflow is the solver
//
// Rows C of a mixing become Â = rownorm((1-r)C + rI) before any aggregation; see [Normalization].
// [Reader] reads the rows that a model returns. Nothing here runs a model.
package aggregation

import (
	"context"
	"fmt"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/registry"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("attribution")

// Aggregation combines the layers of a mixing. It must be safe for concurrent use; its states need
// not be.
type Aggregation interface {
	// Info describes the aggregation.
	Info() Info
	// New returns the state of an empty text.
	New(cfg Config) State
}

// State is the memory of an aggregation for one text. It grows by target rows.
type State interface {
	// Extend adds N targets and appends their result to dst, [K,N-Skip,T] with T = First+N: how
	// much of each new target comes from each source so far, after each of K levels. K is 1 with
	// [Config.TopOnly] and L otherwise. Adding targets one by one or all at once gives the same
	// numbers. Extend does not modify or keep the rows. Package attribution never passes NaN or
	// infinity. For a row with such numbers the result is undefined, but Extend returns, and the
	// results of earlier targets do not change.
	//
	// The error wraps ctx.Err(); after an error the state must not be used again. Extend panics if
	// the rows have another number of layers than the state, do not follow the earlier rows or, for
	// the tokens of [Config.Prefix], do not come in one call.
	Extend(ctx context.Context, dst []float64, rows Rows) ([]float64, error)
}

// Info describes an aggregation.
type Info struct {
	// Summary describes a value in one sentence. Formula and Paper are how it is computed and
	// where that was published; Cost is what one more token costs.
	Summary, Formula, Paper, Cost string
	// AllRows reports whether the rows of every prompt position are needed, not only those that are
	// explained.
	AllRows bool
	// Residual is the default residual weight for mixings that do not contain the residual, in
	// [0,1].
	Residual float64
	// Shares reports whether the results sum to 1 if the rows do.
	Shares bool
	// Single reports whether the result of a level is that of its layer alone. A picture then
	// shows, for each token, the layer that wrote most of the prediction, instead of the last one.
	Single bool
	// TopOnly reports whether lower levels are so expensive that they are computed only on request.
	TopOnly bool
}

// Config describes a text for a state.
type Config struct {
	// Layers is L, at least 1.
	Layers int
	// TopOnly asks for the result of the last level alone.
	TopOnly bool
	// Prefix is how many tokens at the beginning see each other; a later one sees itself and those
	// before it. It is 0 in a decoder, all tokens in an encoder, and those of the source in a model
	// of two stacks; see [trace.Info.Prefix]. The rows of these tokens must come in one call.
	Prefix int
	// Encoder is, for a text with a prefix, how many of the state's layers belong to the encoder;
	// it is below 0 if the state begins in the decoder. See [Config.Seen].
	Encoder int
}

// Levels returns K, the number of levels in a result.
func (c Config) Levels() int {
	if c.TopOnly {
		return 1
	}
	return c.Layers
}

// Width returns how many sources target t sees in a text of T tokens.
func (c Config) Width(t, T int) int { return c.sight().Width(t, T) }

// Seen returns which sources target t sees in layer l of the state, from..to-1, of T tokens; see
// [trace.Sight.Seen].
func (c Config) Seen(l, t, T int) (from, to int) { return c.sight().Seen(l, t, T) }

func (c Config) sight() trace.Sight { return trace.Sight{Prefix: c.Prefix, Encoder: c.Encoder} }

// Rows has the rows Â of N targets in L layers. They are not negative, and each sums to 1 or is
// all zero.
type Rows struct {
	// First is the position of the first target; the targets are First..First+N-1.
	First int
	// L layers, N targets. The sources are all T = First+N positions so far.
	L, N int
	// Skip is how many targets, from the first on, extend the state without a result of their own.
	Skip int
	// Data is [L,N,T]. Sources that the target does not see are ignored; see [Config.Width].
	Data []float64
	// Top, [L,N,T], replaces Data in the layer that is explained; the layers below still use Data.
	// Nil means Data. It is for one head over merged lower layers, R_l^h = Â_l^h R_{l-1}.
	Top []float64
}

// T returns the number of sources, First+N.
func (m Rows) T() int { return m.First + m.N }

// Row returns row n of layer l, [T]. It aliases Data.
func (m Rows) Row(l, n int) []float64 { return rowmath.At(m.Data, l*m.N+n, m.T()) }

// TopRow returns the row of target First+n that explains level l, [T]. It aliases Top or Data.
func (m Rows) TopRow(l, n int) []float64 {
	if m.Top == nil {
		return m.Row(l, n)
	}
	return rowmath.At(m.Top, l*m.N+n, m.T())
}

var aggregations = registry.Registry[Aggregation]{Kind: "aggregation"}

// Register registers an aggregation by name. It panics if a is nil or the name is taken or
// malformed.
func Register(name string, a Aggregation) { aggregations.Register(name, a) }

// Lookup returns the aggregation of that name. The error, a [trace.UsageError], lists [Names].
func Lookup(name string) (Aggregation, error) {
	a, err := aggregations.Lookup(name)
	if err != nil {
		return nil, &trace.UsageError{Unknown: true, Reason: err.Error()}
	}
	return a, nil
}

// Names returns the names of all aggregations, sorted.
func Names() []string { return aggregations.Names() }

// check panics if rows cannot extend a state that has seen have targets.
func (c Config) check(name string, have int, rows Rows) {
	switch want := rows.L * rows.N * rows.T(); {
	case rows.L != c.Layers:
		panic(fmt.Sprintf("attribution: %s: rows of %d layers, state of %d", name, rows.L,
			c.Layers))
	case rows.First != have:
		panic(fmt.Sprintf("attribution: %s: rows start at %d after %d targets", name,
			rows.First, have))
	case rows.Skip < 0 || rows.Skip > rows.N:
		panic(fmt.Sprintf("attribution: %s: skip %d of %d rows", name, rows.Skip, rows.N))
	case len(rows.Data) != want || rows.Top != nil && len(rows.Top) != want:
		panic(fmt.Sprintf("attribution: %s: rows hold %d and %d numbers, want %d",
			name, len(rows.Data), len(rows.Top), want))
	case have > 0 && rows.N > 0 && have < c.Prefix:
		panic(fmt.Sprintf("attribution: %s: rows of tokens that see each other must come in one "+
			"call", name))
	}
}

// grow appends n zeros to dst and returns the whole slice and the new part.
func grow(dst []float64, n int) (all, added []float64) {
	all = append(dst, make([]float64, n)...)
	return all, all[len(dst):]
}
