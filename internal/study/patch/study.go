package patch

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

func init() {
	attribution.RegisterStudy(&attribution.Study{
		Name: Name, Options: options, Begin: begin,
		Whole: func() any { return &Result{} },
		Needs: func(attribution.Studies) attribution.StudyNeeds {
			return attribution.StudyNeeds{Contrast: true, ContrastReads: true, Tokens: 1}
		},
	})
}

// Name is the name of the study and of the option that names the places. The settings of the study
// are, beside it: Direction is one of [Directions], Estimate one of [Estimates], Receiver of [Path]
// a text that [ParseReceiver] reads, Steps how many gradients [Edges] are scored by, and Other the
// corrupted prompt. What is compared is the logit of the first token explained with that of the
// contrast or of what the model predicts after the corrupted prompt.
const (
	Name            = "patch"
	DirectionOption = "patch-direction"
	EstimateOption  = "patch-estimate"
	ReceiverOption  = "patch-receiver"
	StepsOption     = "patch-steps"
	OtherOption     = "corrupted"
)

// Of returns what patching each place does to the first token, nil if the study was not asked for.
func Of(e *attribution.Explanation) *Result { return attribution.Finding[Result](e.Studies, Name) }

// options are the options of patching.
var options = []attribution.StudyOption{
	{
		Name: "patch", Key: Name,
		Help: "for the first token, set each place of a kind to what it has in another prompt, " +
			"one at a time, or the way from each head to a receiver, or the edges with the " +
			"lowest scores together: " + oneOf(Kinds()),
		Wrong: func(s string) string {
			if wrong := wrongName(s, Kinds()); wrong != "" {
				return wrong + "; for estimates add patch-estimate=alone"
			}
			return ""
		},
		Ungrouped: "it has tokens as the model has them",
		Conflict: func(o *attribution.Options) string {
			if o.Studies[OtherOption] != "" {
				return ""
			}
			return trace.Called("patch") + " without another prompt; give " +
				trace.Called("corrupted")
		},
	},
	{
		Name: "patch direction", Key: DirectionOption,
		Help: "which prompt is run with values of the other, the corrupted or the clean one: " +
			oneOf(Directions()),
		Wrong:    func(s string) string { return wrongName(s, Directions()) },
		Conflict: needsPatch("patch direction", append(Places(), Path)...),
	},
	{
		Name: "patch estimate", Key: EstimateOption,
		Help: "estimate what patching does by one gradient, alone, which takes the time of three " +
			"runs, or beside the runs, with how well it fits; or its size by AtP*, by a gradient " +
			"for each layer: " + oneOf(Estimates()),
		Wrong: func(s string) string { return wrongName(s, Estimates()) },
		Conflict: func(o *attribution.Options) string {
			places := Estimate(o.Studies[EstimateOption]).Places()
			return needsPatch("patch estimate", places...)(o)
		},
	},
	{
		Name: "patch receiver", Key: ReceiverOption,
		Help: "where paths end: `logits|LAYER.HEAD`, or LAYER.HEAD.key and LAYER.HEAD.value for " +
			"what of the head is not its query (default logits)",
		Wrong: func(s string) string {
			if _, err := ParseReceiver(s); s != "" && err != nil {
				return message.Words(err, nil)
			}
			return ""
		},
		Conflict: needsPatch("patch receiver", Path),
	},
	{
		Name: "patch steps", Key: StepsOption,
		Help: "score edges by the mean of `N` gradients between both prompts; 1 is edge " +
			"attribution patching, more are EAP-IG",
		Limits: fmt.Sprintf(", from 1 to %d (default %d)", MostSteps, DefaultSteps),
		Wrong: func(s string) string {
			n, err := strconv.Atoi(s)
			if s != "" && (err != nil || n < 1 || n > MostSteps) {
				return fmt.Sprintf("want a whole number from 1 to %d", MostSteps)
			}
			return ""
		},
		Conflict: needsPatch("patch steps", Edges),
	},
	{
		Name: "corrupted", Key: OtherOption,
		Help:     "the other `prompt` of patch, of as many tokens",
		Conflict: needsPatch("corrupted", Kinds()...),
	},
}

// oneOf writes names for the help of an option.
func oneOf[T ~string](all []T) string { return "`" + strings.Join(message.Names(all), "|") + "`" }

// wrongName returns what is wrong with a name that is not one of some; "" is the default.
func wrongName[T ~string](name string, all []T) string {
	if name == "" || slices.Contains(all, T(name)) {
		return ""
	}
	return "want one of " + strings.Join(message.Names(all), ", ")
}

// needsPatch returns why an option does not stand without patching of some places.
func needsPatch(name string, places ...Place) func(*attribution.Options) string {
	return func(o *attribution.Options) string {
		switch {
		case o.Studies[Name] == "":
			return trace.Called(name) + " without " + trace.Called("patch") +
				"; name the places to patch"
		case slices.Contains(places, Place(o.Studies[Name])):
			return ""
		}
		return fmt.Sprintf("%s is for %s, and %s is %s", trace.Called(name),
			message.List(message.Names(places)), trace.Called("patch"), o.Studies[Name])
	}
}

// begin reads the other prompt. It returns the error of prompts that cannot be patched before
// anything is computed.
func begin(r *attribution.StudyRun) (steps attribution.StudySteps, err error) {
	_, corrupted, err := r.Read(r.Setting(OtherOption), r.Options)
	if err != nil {
		return steps, err
	}
	e := r.Explanation
	clean := make([]trace.Token, len(e.Prompt.IDs))
	for i, id := range e.Prompt.IDs {
		clean[i] = trace.Token{ID: id, Text: e.Prompt.Texts[i]}
	}
	n, _ := strconv.Atoi(r.Setting(StepsOption)) // 0 for the default
	o := Options{
		Clean: clean, Corrupted: corrupted, Foil: r.Contrast, Place: Place(r.Setting(Name)),
		Direction: Direction(r.Setting(DirectionOption)),
		Estimate:  Estimate(r.Setting(EstimateOption)), Steps: n,
		Edits: e.Edits, Progress: r.Options.OnProgress,
	}
	if to := r.Setting(ReceiverOption); to != "" {
		if o.Receiver, err = ParseReceiver(to); err != nil {
			return steps, err
		}
	}
	steps.End = func(ctx context.Context) error {
		first := &e.Steps[0]
		o.Position, o.Answer = first.Position, &first.ID
		found, err := Map(ctx, r.Model, o)
		if err == nil {
			e.Studies.Set(Name, found)
		}
		return err
	}
	return steps, Check(r.Model, o)
}
