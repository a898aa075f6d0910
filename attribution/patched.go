package attribution

import (
	"context"

	"github.com/headwater-ml/headwater/attribution/patch"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// patch patches the first prediction, if the options ask for it.
func (r *run) patch(ctx context.Context, m trace.Model) error {
	if r.opts.Patch == "" || len(r.e.Steps) == 0 {
		return nil
	}
	_, corrupted, err := readPrompt(m, r.opts.Corrupted, r.opts)
	if err != nil {
		return err
	}
	clean := make([]trace.Token, len(r.ids))
	for i, id := range r.ids {
		clean[i] = trace.Token{ID: id, Text: r.e.Prompt.Texts[i]}
	}
	g := &r.e.Steps[0]
	o := patch.Options{
		Clean: clean, Corrupted: corrupted, Position: g.Position, Answer: &g.ID, Foil: r.contrast,
		Place: patch.Place(r.opts.Patch), Direction: patch.Direction(r.opts.PatchDirection),
		Estimate: r.opts.PatchEstimate, Edits: r.ask.Edits, Progress: r.opts.OnProgress,
	}
	if r.opts.patchesEdges() {
		edges := patch.EdgeOptions{Options: o, Steps: r.opts.PatchSteps}
		r.e.Patch, err = patch.Edges(ctx, m, edges)
		return err
	}
	r.e.Patch, err = patch.Map(ctx, m, o)
	return err
}

// patchesEdges reports whether edges are patched, and not places.
func (o *Options) patchesEdges() bool { return o.Patch == string(patch.EdgePlace) }
