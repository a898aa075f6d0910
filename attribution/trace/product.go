package trace

// Product asks for K vectors times the normalised rows of one layer,
//
//	Left·Â,  Â = rownorm((1-r)C + rI)
//
// where C are the rows of a mixing for all T tokens of the text so far. The rows need not be
// stored: a model computes them again, some targets at a time. So what a whole matrix would tell
// about a few tokens of a long text costs memory that grows with T and not with T².
type Product struct {
	// Layer is the layer, 0-based.
	Layer int
	// Mixing is a registered mixing, and Heads is how its heads are fused; not [EachHead].
	Mixing string
	Heads  Heads
	// Residual is r, in [0,1]. Scaled reports whether rows of C are divided by their sums before
	// the residual is added.
	Residual float64
	Scaled   bool
	// K is the number of vectors, and Left is [K,T].
	K    int
	Left []float64
}

// Multiplier is a model whose steps have [Step.Multiply].
type Multiplier interface {
	Model
	// Multiplies reports whether they do.
	Multiplies() bool
}
