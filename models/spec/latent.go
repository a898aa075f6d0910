package spec

// Latent is how a layer projects queries, keys and values through narrow vectors, each with a norm
// without a mean, and with one part of the key for all heads (Multi-head Latent Attention, DeepSeek
// 2024, §2.1):
//
//	c = N(x W_c),  k^h = [x W_s, c W_k^h],  v^h = c W_v^h,  q^h = N(x W_d) W_q^h
//
// The first Shared components of a query and a key are those that positions turn. Keys and values
// are computed and kept for each head, as in any other model. A cache of c would take a twentieth
// of the memory, but what a token adds through a head, which most methods are about, would be
// computed again at every step.
type Latent struct {
	// Queries is the width of x W_d; 0 means that queries are projected from x.
	Queries int
	// KeysAndValues is the width of c, Shared that of x W_s, Values that of v^h.
	KeysAndValues, Shared, Values int
	// Epsilon is that of both norms; it is in (0,1).
	Epsilon float64
}

// checkLatent checks the widths against those of a head.
func (s *Spec) checkLatent() error {
	t := s.Latent
	switch {
	case t == nil:
	case t.Queries < 0 || min(t.KeysAndValues, t.Values) < 1 ||
		max(t.Queries, t.KeysAndValues, t.Values) > maxWidth:
		return s.wrong("HeadWidth", "latents of %d and %d components and values of %d are not in "+
			"1..%d", t.Queries, t.KeysAndValues, t.Values, maxWidth)
	case t.Shared < 1 || t.Shared >= s.HeadWidth:
		return s.wrong("HeadWidth", "%d components of a key that heads share are not "+
			"in 1..%d; a key has %d", t.Shared, s.HeadWidth-1, s.HeadWidth)
	case s.Groups() != s.Heads:
		return s.wrong("KeyValueHeads Heads", "%d key and value heads for %d heads; with latents "+
			"each head has its own", s.Groups(), s.Heads)
	case s.ProjectionBias || s.QueryKeyNorm || s.Relative != nil || s.ProjectionClip > 0:
		return s.wrong("ProjectionBias", "biases, norms, limits and distances of queries and keys "+
			"from latents are not supported")
	case !(t.Epsilon > 0 && t.Epsilon < 1):
		return s.wrong("NormEpsilon", "norm epsilon %v is not in (0,1)", t.Epsilon)
	}
	return nil
}

// latents adds the projections of a layer.
func (p *paramList) latents(b string, t *Latent) {
	s, in := p.spec, p.spec.Width
	if t.Queries > 0 {
		p.add(b+"query-latent.weight", in, t.Queries)
		p.add(b+"query-latent-norm.gain", t.Queries)
		in = t.Queries
	}
	p.add(b+"query-up.weight", in, s.Heads*s.HeadWidth)
	p.add(b+"latent.weight", s.Width, t.KeysAndValues)
	p.add(b+"latent-norm.gain", t.KeysAndValues)
	p.add(b+"shared-key.weight", s.Width, t.Shared)
	p.add(b+"key-up.weight", t.KeysAndValues, s.Heads*(s.HeadWidth-t.Shared))
	p.add(b+"value-up.weight", t.KeysAndValues, s.Heads*t.Values)
}
