package spec

// Mixture is a feed-forward part of X experts. For each token a router gives every expert a
// probability, the softmax of x W_r unless the spec says otherwise; the token passes the few
// experts with the largest ones, and the output is the sum of theirs, each times its weight:
//
//	m(x) = Σ_e w_e m_e(x),  w_e = probability of e if it is chosen, and 0 if not
type Mixture struct {
	// Experts is X, Chosen is how many of them a token passes, and Width is F of each.
	Experts, Chosen, Width int
	// Sigmoid makes the probability of an expert the sigmoid of its number in x W_r, whatever those
	// of the others are (DeepSeek V3).
	Sigmoid bool
	// ChoiceBias adds a number for each expert to its probability where experts are chosen, and
	// only there (DeepSeek V3).
	ChoiceBias bool
	// Groups, if above 1, is into how many groups of one size experts come. A token chooses among
	// the ChosenGroups whose GroupBest best experts are the best together (DeepSeek).
	Groups, ChosenGroups, GroupBest int
	// Scale multiplies the weights of the chosen experts; 0 means 1 (DeepSeek).
	Scale float64
	// Renormalize divides the weights of the chosen experts by their sum (Mixtral).
	Renormalize bool
	// RouterBias adds a bias to x W_r (GPT-OSS).
	RouterBias bool
	// Shared is F of one more expert, which every token passes; 0 means that there is none.
	// SharedGate multiplies its output by a sigmoid of x (Qwen2-MoE).
	Shared     int
	SharedGate bool
	// Dense is [L] or nil: which layers have no experts, but one part of width FeedForward.
	Dense []bool
}

// MixtureOf returns the experts of layer l, nil if it has none.
func (s *Spec) MixtureOf(l int) *Mixture {
	if s.Mixture == nil || s.Mixture.Dense != nil && s.Mixture.Dense[l] {
		return nil
	}
	return s.Mixture
}

// Experts returns X, 0 without a mixture.
func (s *Spec) Experts() int { return s.mixture().Experts }

// InnerWidth returns how many numbers the widest feed-forward part has between its matrices, all of
// its experts together.
func (s *Spec) InnerWidth() int {
	m := s.mixture()
	return max(s.FeedForward, s.EncoderFeedForward, m.Experts*m.Width+m.Shared)
}

// mixture returns the experts, or a mixture without any.
func (s *Spec) mixture() *Mixture {
	if s.Mixture == nil {
		return &Mixture{}
	}
	return s.Mixture
}

// checkMixture checks that there are experts and that each token passes some of them.
func (s *Spec) checkMixture() error {
	m := s.Mixture
	switch {
	case m == nil:
	case m.Chosen < 1 || m.Chosen > m.Experts:
		return s.wrong("Chosen Experts", "%d experts for each token are not in 1..%d, the number "+
			"of experts", m.Chosen, m.Experts)
	case m.Width < 1:
		return s.wrong("ExpertWidth", "experts of the feed-forward width %d", m.Width)
	case m.Groups > 1 && (m.Experts%m.Groups != 0 || m.ChosenGroups < 1 ||
		m.ChosenGroups > m.Groups || m.GroupBest < 1 || m.GroupBest > m.Experts/m.Groups ||
		m.Chosen > m.ChosenGroups*(m.Experts/m.Groups)):
		return s.wrong("Chosen Experts Groups", "%d of %d experts from %d of %d groups, by the "+
			"best %d of each", m.Chosen, m.Experts, m.ChosenGroups, m.Groups, m.GroupBest)
	case !(m.Scale >= 0 && m.Scale <= MaxScale):
		return s.wrong("MixtureScale", "scale of experts %v is not in 0..%g", m.Scale,
			float64(MaxScale))
	case m.SharedGate && m.Shared < 1:
		return s.wrong("SharedWidth", "a shared expert of the feed-forward width %d", m.Shared)
	case m.Dense != nil && len(m.Dense) != s.Layers:
		return s.wrong("Dense Layers", "%d layers with and without experts of %d", len(m.Dense),
			s.Layers)
	}
	return nil
}
