package transformer

import "fmt"

// Positions is how a model knows the order of its tokens.
type Positions int

// The position schemes.
const (
	LearnedPositions Positions = iota // a table added to the embedding (GPT-2)
	ALiBi                             // a bias slope·j on the scores of source j (BLOOM, Falcon-RW)
)

// Activation is the non-linearity of the feed-forward part.
type Activation int

// The activations.
const (
	GELU     Activation = iota // x Φ(x), by the error function (Falcon)
	GELUTanh                   // its tanh approximation (GPT-2, BLOOM)
)

// Spec describes a decoder completely; the graph follows it and never asks which family it is building. Sizes are those of
// the shape legend in the package comment.
type Spec struct {
	Family string // architecture, for messages only

	Layers, Heads, Width, HeadWidth, FeedForward, Vocab int

	// Context is how many tokens the model can take; 0 where the position scheme sets no limit.
	Context   int
	Positions Positions
	// AlibiSlopes is [H], used with ALiBi: the score of source j gets AlibiSlopes[h]·j.
	AlibiSlopes []float32
	// AlibiRounded rounds slope·j to bfloat16, and AlibiScaled divides it by √E as the content is (Falcon-RW).
	AlibiRounded, AlibiScaled bool

	// EmbeddingNorm puts a layer norm behind the embedding (BLOOM).
	EmbeddingNorm bool
	NormEpsilon   float64
	Activation    Activation
	// Biases is whether the projections of attention and feed-forward have biases.
	Biases bool
	// TiedHead uses the embedding as output projection.
	TiedHead bool

	// BOS and EOS are the ids that begin and end a text; BOS is -1 where there is none.
	BOS int
	EOS []int
}

// Sizes that a configuration file cannot exceed: far above every model known, far below what would overflow or fill memory.
const (
	// MaxHeads is the most heads that a layer may have.
	MaxHeads = 1 << 12

	maxLayers = 1024
	maxWidth  = 1 << 17
	maxVocab  = 1 << 24
)

// Check returns an error if the sizes do not fit together, naming the value and the limit.
func (s *Spec) Check() error {
	for _, v := range []struct {
		name       string
		value, max int
	}{
		{"layers", s.Layers, maxLayers},
		{"heads", s.Heads, MaxHeads},
		{"width", s.Width, maxWidth},
		{"head width", s.HeadWidth, maxWidth},
		{"feed-forward width", s.FeedForward, 8 * maxWidth},
		{"vocabulary", s.Vocab, maxVocab},
	} {
		if v.value < 1 || v.value > v.max {
			return fmt.Errorf("transformer: %s: %s %d is not in 1..%d", s.Family, v.name, v.value, v.max)
		}
	}
	if s.Heads*s.HeadWidth != s.Width {
		return fmt.Errorf("transformer: %s: %d heads of width %d do not make up width %d", s.Family, s.Heads, s.HeadWidth, s.Width)
	}
	if s.Context < 0 || s.Context > maxVocab {
		return fmt.Errorf("transformer: %s: context %d is not in 0..%d", s.Family, s.Context, maxVocab)
	}
	if s.Positions == LearnedPositions && s.Context == 0 {
		return fmt.Errorf("transformer: %s: learned positions need a context of at least 1", s.Family)
	}
	if s.Positions == ALiBi && len(s.AlibiSlopes) != s.Heads {
		return fmt.Errorf("transformer: %s: %d ALiBi slopes for %d heads", s.Family, len(s.AlibiSlopes), s.Heads)
	}
	if !(s.NormEpsilon > 0 && s.NormEpsilon < 1) {
		return fmt.Errorf("transformer: %s: norm epsilon %v is not in (0,1)", s.Family, s.NormEpsilon)
	}
	for _, id := range append([]int{s.BOS}, s.EOS...) {
		if id < -1 || id >= s.Vocab {
			return fmt.Errorf("transformer: %s: special token id %d is outside the vocabulary of %d", s.Family, id, s.Vocab)
		}
	}
	return nil
}

// Param is one array of weights: its name and shape. Projections are [in,out], so that activations multiply from the left.
type Param struct {
	Name  string
	Shape []int
}

// Size returns how many numbers the array has.
func (p Param) Size() int {
	n := 1
	for _, d := range p.Shape {
		n *= d
	}
	return n
}

// Params lists every array of weights that the graph of s needs, in a fixed order:
//
//	embedding [V,D]   positions [C,D]   embedding-norm.{gain,bias} [D]
//	blocks.l.attention-norm.{gain,bias} [D]   blocks.l.{query,key,value}.{weight [D,HE],bias [HE]}
//	blocks.l.output.{weight [HE,D],bias [D]}  blocks.l.mlp-norm.{gain,bias} [D]
//	blocks.l.up.{weight [D,F],bias [F]}       blocks.l.down.{weight [F,D],bias [D]}
//	final-norm.{gain,bias} [D]   head [D,V]
func (s *Spec) Params() []Param {
	d, f, inner := s.Width, s.FeedForward, s.Heads*s.HeadWidth
	ps := []Param{{"embedding", []int{s.Vocab, d}}}
	if s.Positions == LearnedPositions {
		ps = append(ps, Param{"positions", []int{s.Context, d}})
	}
	norm := func(name string) {
		ps = append(ps, Param{name + ".gain", []int{d}}, Param{name + ".bias", []int{d}})
	}
	if s.EmbeddingNorm {
		norm("embedding-norm")
	}
	for l := range s.Layers {
		block := fmt.Sprintf("blocks.%d.", l)
		dense := func(name string, in, out int) {
			ps = append(ps, Param{block + name + ".weight", []int{in, out}})
			if s.Biases {
				ps = append(ps, Param{block + name + ".bias", []int{out}})
			}
		}
		norm(block + "attention-norm")
		dense("query", d, inner)
		dense("key", d, inner)
		dense("value", d, inner)
		dense("output", inner, d)
		norm(block + "mlp-norm")
		dense("up", d, f)
		dense("down", f, d)
	}
	norm("final-norm")
	if !s.TiedHead {
		ps = append(ps, Param{"head", []int{d, s.Vocab}})
	}
	return ps
}
