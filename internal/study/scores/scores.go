// Package scores is the study of how a model predicts the tokens of the prompt: their entropy,
// surprisal and rank.
package scores

import (
	"context"
	"fmt"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

func init() {
	attribution.RegisterStudy(&attribution.Study{
		Name: Name,
		Options: []attribution.StudyOption{{
			Name: "prompt scores", Key: Option, Switch: true, Generates: true,
			Help: "also compute entropy, surprisal and rank of the prompt's tokens, by one more " +
				"pass over the prompt",
			Conflict: func(o *attribution.Options) string {
				if o.By == "" {
					return ""
				}
				return trace.Called("prompt scores") + " and groups of the prompt; tokens are " +
					"scored as the model has them: leave by out"
			},
		}},
		Whole: func() any { return &Prompt{} },
		Begin: begin,
	})
}

// Name is the name of the study, and Option that of its option.
const (
	Name   = "scores"
	Option = "prompt-scores"
)

// Prompt are the scores of the prompt's tokens, [m], each as the model predicts it from the tokens
// before it; nil for the first one and where a number would be infinite.
type Prompt []*trace.TokenScores

// Of returns the scores of the prompt's tokens, nil if the study was not asked for.
func Of(e *attribution.Explanation) Prompt {
	if found := attribution.Finding[Prompt](e.Studies, Name); found != nil {
		return *found
	}
	return nil
}

// begin returns a usage error if the model does not tell what it predicts in a prompt.
func begin(r *attribution.StudyRun) (steps attribution.StudySteps, err error) {
	reader, err := r.LogitReader()
	if err != nil {
		return steps, err
	}
	if info := r.Model.Info(); info.EncoderLayers > 0 {
		return steps, trace.Usagef("%s predicts no token of its source, so these have no scores; "+
			"those of the target are there without %s", message.Quote(info.Name),
			trace.Called("prompt scores"))
	}
	steps.End = func(ctx context.Context) error { return score(ctx, reader, r.Explanation) }
	return steps, nil
}

// score sets the scores of the prompt's tokens.
func score(ctx context.Context, m trace.LogitReader, e *attribution.Explanation) error {
	ids := e.Prompt.IDs
	all, n := make(Prompt, len(ids)), len(ids)-1
	if n > 0 {
		edits := trace.EditsWithin(e.Edits, n)
		err := m.ReadLogits(ctx, ids[:n], edits, 0, func(at int, logits []float32) error {
			s := &trace.TokenScores{}
			s.Entropy, s.Surprisal, s.Rank = rowmath.Scores(logits, ids[at+1])
			if s.Finite() {
				all[at+1] = s
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("the scores of the prompt: %w", err)
		}
	}
	e.Studies.Set(Name, &all)
	return nil
}
