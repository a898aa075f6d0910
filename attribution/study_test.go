package attribution_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
	"github.com/headwater-ml/headwater/internal/registry"
)

// letters counts the letters of the text and of each token: a study from another module.
type letters struct {
	Count int `json:"count"`
}

var counting = &attribution.Study{
	Name: "letters",
	Options: []attribution.StudyOption{{
		Name: "letters", Key: "letters", Help: "count `which` letters", Off: "none",
		Wrong: func(s string) string {
			if len(s) > 4 {
				return "want at most four letters"
			}
			return ""
		},
		Conflict: func(o *attribution.Options) string {
			if o.Lift {
				return trace.Called("letters") + " and lift"
			}
			return ""
		},
	}},
	Whole: func() any { return &letters{} },
	Token: func() any { return &letters{} },
	Check: func(_ *attribution.Options, prompt string) error {
		if !strings.Contains(prompt, "w") {
			return trace.Usagef("the prompt has no w")
		}
		return nil
	},
	Begin: func(r *attribution.StudyRun) (attribution.StudySteps, error) {
		return attribution.StudySteps{
			Step: func(_ trace.Step, g *attribution.GeneratedToken) error {
				g.Studies.Set("letters", &letters{strings.Count(g.Text, r.Setting("letters"))})
				return nil
			},
			End: func(context.Context) error {
				n := strings.Count(r.Prompt, r.Setting("letters"))
				r.Explanation.Studies.Set("letters", &letters{n})
				r.Warn("Letters were counted.")
				return nil
			},
		}, nil
	},
}

// TestStudyOfAnotherModule: a registered study has its option checked, is run, and what it finds
// goes through JSON and gob; without it, what was found stays as it is.
func TestStudyOfAnotherModule(t *testing.T) {
	attribution.RegisterStudy(counting)
	registered := true
	remove := func() {
		if registered {
			registry.Remove("study", "letters")
		}
		registered = false
	}
	t.Cleanup(remove)
	o := attribution.Options{Methods: []string{"raw"}, MaxTokens: 2}
	must(t, attribution.SetOptions(&o, attribution.OptionTable(), "letters=w"))
	var live []int
	o.OnStep = func(e *attribution.Explanation) {
		found := attribution.Finding[letters](e.Steps[len(e.Steps)-1].Studies, "letters")
		live = append(live, found.Count)
	}
	e, err := attribution.Explain(t.Context(), fakemodel.New(2, fakemodel.Causal), "w1 w2 w0", o)
	must(t, err)
	count := func(e *attribution.Explanation) [2]int {
		whole := attribution.Finding[letters](e.Studies, "letters")
		token := attribution.Finding[letters](e.Steps[1].Studies, "letters")
		if whole == nil || token == nil {
			return [2]int{-1, -1}
		}
		return [2]int{whole.Count, token.Count}
	}
	if got := count(e); got != [2]int{3, 1} || len(live) != 2 || live[0] != 1 ||
		e.Warnings[len(e.Warnings)-1] != "Letters were counted." {
		t.Errorf("found %v, while it ran %v, warnings %q", got, live, e.Warnings)
	}
	text, err := json.Marshal(e)
	must(t, err)
	var read, sent, unknown attribution.Explanation
	must(t, json.Unmarshal(text, &read))
	var socket bytes.Buffer
	must(t, gob.NewEncoder(&socket).Encode(e))
	must(t, gob.NewDecoder(&socket).Decode(&sent))
	must(t, sent.ReadStudies())
	for name, got := range map[string]*attribution.Explanation{"JSON": &read, "gob": &sent} {
		if count(got) != count(e) {
			t.Errorf("%s has %v", name, got.Studies)
		}
	}
	together := o
	together.OnStep, together.Target = nil, "answer"
	joined, err := attribution.Explain(t.Context(), fakemodel.New(2, fakemodel.Causal), "w1 w2 w0",
		together)
	if must(t, err); len(joined.Steps) != 1 || joined.Steps[0].Studies != nil ||
		joined.Studies == nil {
		t.Errorf("tokens put together have what was found of one: %v", joined.Steps)
	}
	words := e.Prompt.Units().Words()
	if grouped, err := e.GroupSpans(words); err != nil || grouped.Studies != nil ||
		grouped.Steps[1].Studies != nil || count(e) != [2]int{3, 1} {
		t.Errorf("spans have what is of tokens: %v, %v", grouped, err)
	}
	for want, o := range map[string]attribution.Options{
		"want at most four":          {Studies: attribution.Studies{"letters": "abcde"}},
		"letters and lift":           {Studies: attribution.Studies{"letters": "w"}, Lift: true},
		`no study has the setting "`: {Studies: attribution.Studies{"leters": "w"}},
	} {
		err := o.Check()
		if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", o.Studies, err, want)
		}
	}
	asked := attribution.Options{Studies: attribution.Studies{"letters": "w"}}
	if err := asked.CheckPrompt("x"); err == nil || asked.CheckPrompt("w") != nil {
		t.Errorf("a prompt without the letter: %v", err)
	}
	asked.Ask("letters", "none")
	if asked.Afterwards() || asked.CheckPrompt("x") != nil {
		t.Error("a value that asks for nothing asks for something")
	}
	for value, asks := range map[string]bool{"true": true, "1": true, "false": false, "0": false} {
		asked = attribution.Options{Studies: attribution.Studies{"prompt-scores": value}}
		if given := attribution.LookupOption("prompt scores").Given(&asked); given != asks ||
			asked.Afterwards() != asks {
			t.Errorf("prompt scores %s: given %v, computed %v", value, given, asked.Afterwards())
		}
	}
	if asked.Ask("prompt-scores", ""); asked.Studies != nil {
		t.Errorf("a setting that is taken back leaves %v", asked.Studies)
	}
	remove()
	must(t, json.Unmarshal(text, &unknown))
	again, err := json.Marshal(&unknown)
	must(t, err)
	if diff := cmp.Diff(string(text), string(again)); diff != "" {
		t.Errorf("what an unknown study found is lost (-written +read again):\n%s", diff)
	}
	damaged := bytes.Replace(text, []byte(`{"count":3}`), []byte(`{"count":"3"}`), 1)
	attribution.RegisterStudy(counting)
	registered = true
	err = json.Unmarshal(damaged, &read)
	if err == nil || !strings.Contains(err.Error(), "letters") {
		t.Errorf("a damaged finding: %v", err)
	}
}
