package attribution

import (
	"context"

	"github.com/headwater-ml/headwater/attribution/patch"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// preparePatch reads the other prompt, if the first prediction is to be patched, and returns the
// error of prompts that cannot be, before anything is computed. The prompt has been read.
func (r *run) preparePatch(m trace.Model) error {
	if r.opts.Patch == "" {
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
	r.patching = patch.Options{
		Clean: clean, Corrupted: corrupted, Foil: r.contrast,
		Place: patch.Place(r.opts.Patch), Direction: patch.Direction(r.opts.PatchDirection),
		Estimate: r.opts.PatchEstimate, Edits: r.ask.Edits, Progress: r.opts.OnProgress,
	}
	return patch.Check(m, r.patching)
}

// patch patches the first prediction, if the options ask for it.
func (r *run) patch(ctx context.Context, m trace.Model) (err error) {
	if r.opts.Patch == "" || len(r.e.Steps) == 0 {
		return nil
	}
	g := &r.e.Steps[0]
	r.patching.Position, r.patching.Answer = g.Position, &g.ID
	r.e.Patch, err = patch.Map(ctx, m, r.patching)
	return err
}
