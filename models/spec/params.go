package spec

import (
	"cmp"
	"fmt"
)

// Param is one array of weights. Projections are [in,out], so activations multiply from the left;
// tables over the vocabulary are [V,...], as in checkpoints.
type Param struct {
	Name  string // as listed at [Spec.Params]
	Shape []int  // outermost axis first
}

// Size returns how many numbers the array has.
func (p Param) Size() int {
	n := 1
	for _, d := range p.Shape {
		n *= d
	}
	return n
}

// Loader calls put with the values of a parameter, row-major, in pieces; first is the index of the
// first value of a piece. put reads a piece before it returns and does not keep it.
type Loader func(p Param, put func(first int, values []float32)) error

// Params lists every array of weights that the graph of s needs, in a fixed order. W is the width
// of the embedding, G the number of heads with keys and values, K that of classes or token types.
// Arrays that the spec does not need are left out:
//
//	embedding [V,W]   positions [C+offset,D or W]   token-types [K,W]
//	source-embedding [SourceVocab,W], if the source has a vocabulary of its own
//	embedding-norm.{gain,bias} [W]
//	target-positions and target-embedding-norm of the same shapes, if there are two stacks
//	embedding-projection.{weight [W,D],bias [D]}
//	blocks.l.relative-bias [K,H]   blocks.l.sinks [H]   blocks.l.memory-norm.{gain,bias} [D]
//	blocks.l.relative-embeddings [2·Span,D]   blocks.l.relative-norm.{gain,bias} [D]
//	blocks.l.position-{key,query}.{weight [D,HE],bias [HE]}
//	blocks.l.attention-norm.{gain,bias} [D]   blocks.l.query.{weight [D,HE],bias [HE]}
//	blocks.l.{key,value}.{weight [D,GE],bias [GE]}   blocks.l.{query,key}-norm.gain [E], or
//	blocks.l.{query,key}-norm.h.gain [E] for each head
//	blocks.l.{query-latent,latent,shared-key,query-up,key-up,value-up}.weight and
//	blocks.l.{query-latent,latent}-norm.gain in their place, with the widths of [Latent]
//	blocks.l.output.{weight [HE,D],bias [D]}  blocks.l.attention-after-norm.gain [D]
//	blocks.l.mlp-norm.{gain,bias} [D]         blocks.l.{gate,up}.{weight [D,F],bias [F]}
//	blocks.l.down.{weight [F,D],bias [D]}     blocks.l.mlp-after-norm.gain [D]
//	blocks.l.router.{weight [D,X],bias [X],choice [X]}
//	blocks.l.experts.e.{gate,up,down}.{weight,bias}
//	blocks.l.shared.{gate,up,down}.{weight,bias}  blocks.l.shared-gate.weight [D,1]
//	blocks.l.activation.{positive,negative} [1]
//	final-norm.{gain,bias} [D]
//	head-projection.weight [D,W]
//	head-transform.{weight [D,W],bias [W]}   head-norm.{gain,bias} [W]
//	head [V,W]   head-bias [V]
//	classifier-dense.{weight [D,D],bias [D]}   classifier.{weight [D or W,K],bias [K]}
func (s *Spec) Params() []Param {
	p := &paramList{spec: s}
	p.embedding()
	for l := range s.Layers {
		p.block(l)
	}
	if !s.NoFinalNorm {
		p.norm("final-norm", s.Width)
	}
	p.head()
	return p.all
}

// paramList collects parameters in order.
type paramList struct {
	spec *Spec
	all  []Param
}

func (p *paramList) add(name string, shape ...int) { p.all = append(p.all, Param{name, shape}) }

func (p *paramList) norm(name string, width int) {
	if !p.spec.NoNormGain {
		p.add(name+".gain", width)
	}
	if p.spec.NormBias() {
		p.add(name+".bias", width)
	}
}

func (p *paramList) dense(name string, in, out int, bias bool) {
	p.add(name+".weight", in, out)
	if bias {
		p.add(name+".bias", out)
	}
}

func (p *paramList) embedding() {
	s, w := p.spec, p.spec.Embedded()
	p.add("embedding", s.Vocab, w)
	if s.SourceVocab > 0 {
		p.add("source-embedding", s.SourceVocab, w)
	}
	if s.Positions == LearnedPositions {
		width := w
		if s.ProjectTokens {
			width = s.Width
		}
		rows := s.Context + s.PositionOffset
		p.add("positions", cmp.Or(s.PositionRows, rows), width)
		if s.Encoder > 0 {
			p.add("target-positions", cmp.Or(s.TargetPositionRows, rows), width)
		}
	}
	if s.TokenTypes > 0 {
		p.add("token-types", s.TokenTypes, w)
	}
	if s.EmbeddingNorm {
		p.norm("embedding-norm", w)
		if s.Encoder > 0 {
			p.norm("target-embedding-norm", w)
		}
	}
	if w != s.Width {
		p.dense("embedding-projection", w, s.Width, !s.ProjectTokens)
	}
}

func (p *paramList) block(l int) {
	s, b := p.spec, fmt.Sprintf("blocks.%d.", l)
	d, inner, group := s.Width, s.Heads*s.HeadWidth, s.Groups()*s.HeadWidth
	norm := func(name string) {
		if s.HasNorm(l, name) {
			p.norm(b+name, d)
		}
	}
	norm("attention-norm")
	norm("memory-norm")
	if s.RelativeBuckets > 0 && s.Stack(l) != Crossing {
		p.add(b+"relative-bias", s.RelativeBuckets, s.Heads)
	}
	if s.Relative != nil {
		p.relative(b, s.Relative)
	}
	if s.Latent != nil {
		p.latents(b, s.Latent)
	} else {
		p.dense(b+"query", d, inner, s.ProjectionBias)
		p.dense(b+"key", d, group, s.ProjectionBias)
		p.dense(b+"value", d, group, s.ProjectionBias)
	}
	if s.QueryKeyNorm {
		p.headGains(b+"query-norm.", s.Heads)
		p.headGains(b+"key-norm.", s.Groups())
	}
	if s.Sinks {
		p.add(b+"sinks", s.Heads)
	}
	p.dense(b+"output", s.Heads*s.ValueWidth(), d, s.OutputBias)
	norm("attention-after-norm")
	norm("mlp-norm")
	if s.Stack(l) == Decoding {
		return
	}
	if m := s.MixtureOf(l); m != nil {
		p.mixture(b, m)
	} else {
		width := s.FeedForward
		if s.Stack(l) == Encoding && s.EncoderFeedForward > 0 {
			width = s.EncoderFeedForward
		}
		p.feedForward(b, width)
	}
	if s.Activation == XIELU {
		p.add(b+"activation.positive", 1)
		p.add(b+"activation.negative", 1)
	}
	norm("mlp-after-norm")
}

// feedForward adds a feed-forward part of that width.
func (p *paramList) feedForward(prefix string, width int) {
	s := p.spec
	if s.Gated {
		p.dense(prefix+"gate", s.Width, width, s.MLPBias)
	}
	p.dense(prefix+"up", s.Width, width, s.MLPBias)
	p.dense(prefix+"down", width, s.Width, s.MLPBias)
}

// mixture adds a router and its experts.
func (p *paramList) mixture(prefix string, m *Mixture) {
	p.dense(prefix+"router", p.spec.Width, m.Experts, m.RouterBias)
	if m.ChoiceBias {
		p.add(prefix+"router.choice", m.Experts)
	}
	for e := range m.Experts {
		p.feedForward(fmt.Sprintf("%sexperts.%d.", prefix, e), m.Width)
	}
	if m.Shared > 0 {
		p.feedForward(prefix+"shared.", m.Shared)
	}
	if m.SharedGate {
		p.dense(prefix+"shared-gate", p.spec.Width, 1, false)
	}
}

// relative adds the embeddings of distances and their projections.
func (p *paramList) relative(b string, r *Relative) {
	d, inner := p.spec.Width, p.spec.Heads*p.spec.HeadWidth
	p.add(b+"relative-embeddings", 2*r.Span, d)
	if r.Norm {
		p.norm(b+"relative-norm", d)
	}
	if r.Keys && !r.Shared {
		p.dense(b+"position-key", d, inner, true)
	}
	if r.Queries && !r.Shared {
		p.dense(b+"position-query", d, inner, true)
	}
}

// headGains adds the gains of the norm of queries or keys of so many heads.
func (p *paramList) headGains(prefix string, heads int) {
	switch e := p.spec.HeadWidth; {
	case p.spec.QueryKeyGains:
		for h := range heads {
			p.add(fmt.Sprintf("%s%d.gain", prefix, h), e)
		}
	case p.spec.JointQueryKeyNorm:
		p.add(prefix+"gain", heads*e)
	default:
		p.add(prefix+"gain", e)
	}
}

func (p *paramList) head() {
	s, w := p.spec, p.spec.Embedded()
	if s.ProjectsOut() {
		p.dense("head-projection", s.Width, w, false)
	}
	if s.HeadTransform {
		p.dense("head-transform", s.Width, w, !s.HeadDenseUnbiased)
		p.norm("head-norm", w)
	}
	switch s.Head {
	case LanguageHead:
		if !s.TiedHead {
			p.add("head", s.Vocab, w)
		}
		if s.HeadBias {
			p.add("head-bias", s.Vocab)
		}
	case ClassifierHead, TokenHead, SpanHead:
		if s.ClassifierDense {
			p.dense("classifier-dense", s.Width, s.Width, true)
		}
		if !s.ProjectsOut() {
			w = s.Width
		}
		p.dense("classifier", w, s.Classes, s.HeadBias)
	}
}
