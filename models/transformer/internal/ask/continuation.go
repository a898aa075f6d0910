package ask

import (
	"context"
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/graph"
	"github.com/headwater-ml/headwater/models/transformer/internal/logit"
	"github.com/headwater-ml/headwater/models/transformer/internal/run"
)

// PredictContinuation implements [transformer.Model.PredictContinuation].
func PredictContinuation(
	ctx context.Context, m *run.Model, prompts [][]int, continuation []int, done func(prompts int),
) (*trace.Continuations, error) {
	longest, err := checkContinuation(m.Spec, prompts, continuation)
	if err != nil {
		return nil, err
	}
	s, err := m.NewSession(nil, longest)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	order := make([]int, len(prompts))
	for i := range order {
		order[i] = i
	}
	// In this order two prompts with a common beginning have no other one between them.
	slices.SortStableFunc(order, func(a, b int) int {
		return slices.Compare(prompts[a], prompts[b])
	})
	out := &trace.Continuations{LogProbabilities: make([][]float64, len(prompts))}
	for k, i := range order {
		out.Whole += len(prompts[i]) + len(continuation) - 1
		if k > 0 && slices.Equal(prompts[i], prompts[order[k-1]]) {
			out.LogProbabilities[i] = slices.Clone(out.LogProbabilities[order[k-1]])
		} else {
			values, n, err := continued(ctx, m, s, prompts[i], continuation)
			if err != nil {
				return nil, fmt.Errorf("prompt %d of %d: %w", i, len(prompts), err)
			}
			out.LogProbabilities[i], out.Read = values, out.Read+n
		}
		if done != nil {
			done(k + 1)
		}
	}
	return out, nil
}

// checkContinuation checks the arguments of PredictContinuation, and returns the length of the
// longest text that is read.
func checkContinuation(s *spec.Spec, prompts [][]int, continuation []int) (longest int, err error) {
	if s.Bidirectional || s.Head != spec.LanguageHead {
		return 0, pkg.Errorf("the %s model does not continue a text, "+
			"so no continuation has a probability", s.Family)
	}
	if err := run.CheckVocabulary(s, continuation); err != nil {
		return 0, fmt.Errorf("continuation: %w", err)
	}
	for i, ids := range prompts {
		if err := run.CheckIDs(s, ids); err != nil {
			return 0, fmt.Errorf("prompt %d of %d: %w", i, len(prompts), err)
		}
		n := len(ids) + len(continuation) - 1 // nobody reads what follows the last token
		if limit := s.Context; limit > 0 && n-graph.BoundaryIn(s, ids) > limit {
			return 0, fmt.Errorf("prompt %d of %d: %w", i, len(prompts), pkg.Errorf("%d prompt "+
				"tokens and %d of the continuation are more than the context of %d", len(ids),
				len(continuation), limit))
		}
		longest = max(longest, n)
	}
	return longest, nil
}

// continued returns the log-probabilities of a continuation after a prompt, and how many tokens it
// ran for them. It keeps what the text of the session and the prompt have in common.
func continued(ctx context.Context, m *run.Model, s *run.Session, prompt, continuation []int) (
	values []float64, n int, err error,
) {
	ids := slices.Concat(prompt, continuation[:len(continuation)-1])
	if m.Spec.Encoder > 0 { // another source is another text from its first token on
		return continuedTarget(ctx, s, prompt, continuation)
	}
	common, have := 0, run.TokensOf(s)
	// The last token of the prompt runs again, because its target predicts the continuation.
	for common < min(len(prompt)-1, s.Length()) && have[common] == ids[common] {
		common++
	}
	if run.TurnedByLength(m.Spec, max(len(ids), s.Length())) != nil {
		common = 0
	}
	if err := s.Cut(common); err != nil {
		return nil, 0, err
	}
	values, err = s.Extend(ctx, ids[common:], continuation)
	return values, len(ids) - common, err
}

// continuedTarget is [continued] for a model of two stacks.
func continuedTarget(ctx context.Context, s *run.Session, prompt, continuation []int) (
	values []float64, n int, err error,
) {
	out, err := s.Prompt(ctx, prompt, nil)
	if err != nil {
		return nil, 0, err
	}
	values, n = []float64{logit.LogProbability(out.Logits, continuation[0])}, len(prompt)
	if last := len(continuation) - 1; last > 0 {
		rest, err := s.Extend(ctx, continuation[:last], continuation[1:])
		return append(values, rest...), n + last, err
	}
	return values, n, nil
}
