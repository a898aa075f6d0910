package attribution

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution/patch"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// patchRows are the options of patching.
var patchRows = []Option{
	{
		Name: "patch", Field: "Patch", Key: "patch", Group: GenerationOptions,
		Help: "for the first token, set each place of a kind to what it has in another prompt, " +
			"one at a time, or the way from each head to a receiver, or the edges with the " +
			"lowest scores together: " + oneOf(patch.Kinds()),
		value: grouping(func(o *Options) *string { return &o.Patch }, func(s string) string {
			wrong := among(patch.Kinds())(s)
			return onOff(wrong != "", wrong+"; for estimates add patch-estimate=alone")
		}),
		conflict: func(o *Options) string {
			switch {
			case o.Corrupted == "":
				return trace.Called("patch") + " without another prompt; give " +
					trace.Called("corrupted")
			case o.By != "" || o.Target != "":
				return trace.Called("patch") + " and groups of tokens; it has tokens as the " +
					"model has them: leave by and target out"
			}
			return ""
		},
	},
	{
		Name: "patch direction", Field: "PatchDirection", Key: "patch-direction",
		Group: GenerationOptions,
		Help: "which prompt is run with values of the other, the corrupted or the clean one: " +
			oneOf(patch.Directions()),
		value: grouping(func(o *Options) *string { return &o.PatchDirection },
			among(patch.Directions())),
		conflict: needsPatch("patch direction", append(patch.Places(), patch.Path)...),
	},
	{
		Name: "patch estimate", Field: "PatchEstimate", Key: "patch-estimate",
		Group: GenerationOptions,
		Help: "estimate what patching does by one gradient, alone, which takes the time of three " +
			"runs, or beside the runs, with how well it fits; or its size by AtP*, by a gradient " +
			"for each layer: " + oneOf(patch.Estimates()),
		value: grouping(func(o *Options) *string { return &o.PatchEstimate },
			among(patch.Estimates())),
		conflict: func(o *Options) string {
			return needsPatch("patch estimate", patch.Estimate(o.PatchEstimate).Places()...)(o)
		},
	},
	{
		Name: "patch receiver", Field: "PatchReceiver", Key: "patch-receiver",
		Group: GenerationOptions,
		Help: "where paths end: `logits|LAYER.HEAD`, or LAYER.HEAD.key and LAYER.HEAD.value for " +
			"what of the head is not its query (default logits)",
		value:    grouping(func(o *Options) *string { return &o.PatchReceiver }, wrongReceiver),
		conflict: needsPatch("patch receiver", patch.Path),
	},
	{
		Name: "patch steps", Field: "PatchSteps", Key: "patch-steps", Group: GenerationOptions,
		Help: "score edges by the mean of `N` gradients between both prompts; 1 is edge " +
			"attribution patching, more are EAP-IG",
		value: whole(func(o *Options) *int { return &o.PatchSteps }, 1, patch.MostSteps,
			fmt.Sprint(patch.DefaultSteps)),
		conflict: needsPatch("patch steps", patch.Edges),
	},
	{
		Name: "corrupted", Field: "Corrupted", Key: "corrupted", Group: GenerationOptions,
		Help: "the other `prompt` of patch, of as many tokens",
		value: someWords(func(o *Options) *string { return &o.Corrupted },
			fmt.Sprintf("at most %d", maxTextBytes)),
		conflict: needsPatch("corrupted", patch.Kinds()...),
	},
}

// oneOf writes names for the help of an option.
func oneOf[T ~string](all []T) string { return "`" + strings.Join(message.Names(all), "|") + "`" }

// wrongReceiver returns why a text names no receiver, "" if it does.
func wrongReceiver(text string) string {
	if _, err := patch.ParseReceiver(text); text != "" && err != nil {
		return message.Words(err, nil)
	}
	return ""
}

// needsPatch returns why an option does not stand without patching of some places.
func needsPatch(name string, places ...patch.Place) func(o *Options) string {
	return func(o *Options) string {
		switch {
		case o.Patch == "":
			return trace.Called(name) + " without " + trace.Called("patch") +
				"; name the places to patch"
		case slices.Contains(places, patch.Place(o.Patch)):
			return ""
		}
		return fmt.Sprintf("%s is for %s, and %s is %s", trace.Called(name),
			message.List(message.Names(places)), trace.Called("patch"), o.Patch)
	}
}

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
		Clean: clean, Corrupted: corrupted, Foil: r.contrast, Place: patch.Place(r.opts.Patch),
		Direction: patch.Direction(r.opts.PatchDirection),
		Estimate:  patch.Estimate(r.opts.PatchEstimate), Steps: r.opts.PatchSteps,
		Edits: r.ask.Edits, Progress: r.opts.OnProgress,
	}
	if r.opts.PatchReceiver != "" {
		if r.patching.Receiver, err = patch.ParseReceiver(r.opts.PatchReceiver); err != nil {
			return err
		}
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
