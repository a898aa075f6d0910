package sources

import (
	"context"
	"math"

	"github.com/headwater-ml/headwater/attribution/evaluate"
)

// leaveOneOut takes out one source after another. If there are more sources than passes, it takes
// out groups of adjacent sources and divides the strongest group, again and again.
func (r *run) leaveOneOut(ctx context.Context) (*Scores, error) {
	s := &Scores{Unit: "change of the log-probability, nats"}
	n := len(r.result.Sources)
	for range n {
		s.Values = append(s.Values, evaluate.Value(math.NaN()))
	}
	groups := r.single(0, n)
	if n > r.opts.Passes {
		groups = r.divided(Group{First: 0, End: n}, r.opts.Passes/2)
	}
	for {
		if err := r.takeOut(ctx, s, groups); err != nil {
			return nil, err
		}
		at, left := strongest(s.Groups), r.opts.Passes-s.Passes
		if at < 0 || left < 2 {
			return s, nil
		}
		groups = r.divided(s.Groups[at], min(left, r.opts.Passes/2))
		s.Groups[at].divided = true
	}
}

// takeOut measures what the target loses without each group, and keeps it in s.
func (r *run) takeOut(ctx context.Context, s *Scores, groups []Group) error {
	var sets [][]bool
	for _, g := range groups {
		sets = append(sets, r.q.Context.without(g.First, g.End))
	}
	values, err := r.logProbabilities(ctx, "asking without each source", sets)
	if err != nil {
		return err
	}
	s.Passes += len(groups)
	for i, g := range groups {
		g.Value = r.result.LogProbability - values[i]
		if g.End-g.First == 1 {
			s.Values[g.First] = evaluate.Value(g.Value)
		} else {
			s.Groups = append(s.Groups, g)
		}
	}
	return nil
}

// strongest returns the index of the group with the highest score that was not divided, the first
// of equal ones, or -1 if there is none.
func strongest(groups []Group) int {
	best := -1
	for i, g := range groups {
		if !g.divided && (best < 0 || g.Value > groups[best].Value) {
			best = i
		}
	}
	return best
}

// divided divides a group of two or more sources into at least 2 and at most most groups: into its
// paragraphs, or if it is part of one into its sources. If these are too many, adjacent ones are
// put together.
func (r *run) divided(g Group, most int) []Group {
	var parts []Group
	for i := g.First; i < g.End; i++ {
		if i > g.First && r.result.Sources[i].Paragraph == r.result.Sources[i-1].Paragraph {
			parts[len(parts)-1].End = i + 1
			continue
		}
		parts = append(parts, Group{First: i, End: i + 1})
	}
	if len(parts) == 1 {
		parts = r.single(g.First, g.End)
	}
	if len(parts) <= most {
		return parts
	}
	joined := make([]Group, most)
	for i := range joined {
		joined[i] = Group{
			First: parts[i*len(parts)/most].First, End: parts[(i+1)*len(parts)/most-1].End,
		}
	}
	return joined
}

// single returns a group for each source from first on and before end.
func (r *run) single(first, end int) []Group {
	var groups []Group
	for i := first; i < end; i++ {
		groups = append(groups, Group{First: i, End: i + 1})
	}
	return groups
}
