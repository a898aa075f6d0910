package attribution

import (
	"context"
	"fmt"
)

// Aggregation is a way to combine the layers of a mixing. It is safe for concurrent use; its states
// are not.
type Aggregation interface {
	// Info describes the aggregation.
	Info() AggregationInfo
	// New returns the state of an empty text.
	New(cfg Config) State
}

// State is what an aggregation remembers of one text. It grows by target rows.
type State interface {
	// Extend adds N targets and appends their result to dst, [K,N-Skip,T] with T = First+N: how
	// much of each new target comes from each source so far, after each of K levels; K is 1 with
	// [Config.TopOnly] and L otherwise. Adding targets one by one or all at once gives the same
	// numbers. The rows are not modified and not kept. NaN and infinity never come from [Explain]
	// and [Attribute], which refuse them; Extend returns on them, too, and leaves the results of
	// earlier targets alone, but what it makes of them is not defined.
	//
	// The error wraps ctx.Err(); after one the state must not be used again. Extend panics if the
	// rows have other layers than the state, do not follow the earlier ones or, for bidirectional
	// text, do not come in one call.
	Extend(ctx context.Context, dst []float64, rows Mixed) ([]float64, error)
}

// AggregationInfo describes an aggregation.
type AggregationInfo struct {
	// Summary says in one sentence what a value means; Formula and Paper say where it comes from;
	// Cost says what one more token costs, in plain words.
	Summary, Formula, Paper, Cost string
	// AllRows is whether the rows of every prompt position are needed, not only those explained.
	AllRows bool
	// Residual is the residual weight for mixings that do not contain the residual, in [0,1].
	Residual float64
	// Shares is whether the results of rows that sum to 1 sum to 1.
	Shares bool
	// TopOnly is whether lower levels are so dear that they are computed on request only.
	TopOnly bool
}

// Config is what a state must know of its text.
type Config struct {
	// Layers is L, at least 1.
	Layers int
	// TopOnly asks for the result of the last level alone.
	TopOnly bool
	// Bidirectional says that targets see later sources too (encoders). All rows must then come in
	// one call.
	Bidirectional bool
}

// levels returns K, the number of levels in a result.
func (c Config) levels() int {
	if c.TopOnly {
		return 1
	}
	return c.Layers
}

// width returns how many sources target t of T sees.
func (c Config) width(t, T int) int {
	if c.Bidirectional {
		return T
	}
	return t + 1
}

// Mixed is the rows Â of N targets in L layers: not negative, each sums to 1 or is all zero.
type Mixed struct {
	// First is the position of the first target; the targets are First..First+N-1.
	First int
	// L layers, N targets. The sources are all T = First+N positions so far.
	L, N int
	// Skip is how many of the targets, from the first on, extend the state without a result of
	// their own.
	Skip int
	// Data is [L,N,T]. Sources after the target are ignored unless the text is bidirectional.
	Data []float64
	// Top, [L,N,T], replaces Data at the level that is explained, over lower layers that mix by
	// Data; nil is Data. It serves one head over merged lower layers, R_l^h = Â_l^h R_{l-1}.
	Top []float64
}

// T returns the number of sources, First+N.
func (m Mixed) T() int { return m.First + m.N }

// Row returns row n of layer l, [T]. It aliases Data.
func (m Mixed) Row(l, n int) []float64 { return row(m.Data, l*m.N+n, m.T()) }

// TopRow returns the row by which level l of target First+n is explained, [T]. It aliases Top or
// Data.
func (m Mixed) TopRow(l, n int) []float64 {
	if m.Top == nil {
		return m.Row(l, n)
	}
	return row(m.Top, l*m.N+n, m.T())
}

// row returns row i of width w.
func row(data []float64, i, w int) []float64 { return data[i*w : (i+1)*w : (i+1)*w] }

// check panics if rows cannot follow have targets.
func (c Config) check(name string, have int, rows Mixed) {
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
	case c.Bidirectional && have > 0 && rows.N > 0:
		panic(fmt.Sprintf("attribution: %s: bidirectional rows must come in one call", name))
	}
}

// grow appends n zeros to dst and returns the whole and the new part.
func grow(dst []float64, n int) (all, added []float64) {
	all = append(dst, make([]float64, n)...)
	return all, all[len(dst):]
}

var aggregations = registry[Aggregation]{kind: "aggregation"}

// RegisterAggregation makes an aggregation known by name. It panics if a is nil or the name is
// taken or malformed.
func RegisterAggregation(name string, a Aggregation) {
	if a == nil {
		panic("attribution: aggregation " + name + " is nil")
	}
	aggregations.register(name, a)
}

// LookupAggregation returns the aggregation of that name. The error, a [UsageError], lists
// [AggregationNames].
func LookupAggregation(name string) (Aggregation, error) { return aggregations.lookup(name) }

// AggregationNames returns the names of all aggregations, sorted.
func AggregationNames() []string { return aggregations.names() }
