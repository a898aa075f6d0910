package sources_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/sources"
	"github.com/headwater-ml/headwater/internal/testhelp"
	"github.com/headwater-ml/headwater/models"
)

const house = "mary has the red key . john has the blue lamp . anna has the old book ."

// TestAsk: the embedded model answers, and the sentence with its answer is the strongest, whether
// the answer is its own or given; another answer has another sentence.
func TestAsk(t *testing.T) {
	m, err := models.Open("", models.Options{})
	must(t, err)
	a := sources.Ask{Documents: []string{house}, Question: "who has the lamp ?", Target: "john"}
	var stages []string
	a.Options.OnProgress = func(p trace.Progress) { stages = append(stages, p.Stage) }
	own, err := a.Explain(t.Context(), m)
	must(t, err)
	if own.Prompt != house+" who has the lamp ?" || own.Target != "john" ||
		own.Methods[0].Ranked()[0] != 1 || own.Methods[1].Ranked()[0] != 1 {
		t.Errorf("prompt %q, target %q, scores %v", own.Prompt, own.Target, own.Methods)
	}
	if len(stages) == 0 || stages[0] != "asking for the answer" {
		t.Errorf("stages %q, want the answer first", stages)
	}
	a.Options.OnProgress = nil
	a.Answer = "john"
	given, err := a.Explain(t.Context(), m)
	must(t, err)
	if got, want := given.Methods[1].Values[1], own.Methods[1].Values[1]; got != want {
		t.Errorf("the given answer has score %v, the model's own %v", got, want)
	}
	a.Answer, a.Target, a.Template = "anna", "", "{question} {context} {question}"
	a.Names = []string{"house.txt"}
	other, err := a.Explain(t.Context(), m)
	must(t, err)
	if other.Methods[1].Ranked()[0] != 2 || other.Names[0] != "house.txt" ||
		!strings.HasPrefix(other.Prompt, "who has the lamp ? mary") {
		t.Errorf("prompt %q of %q, scores %v", other.Prompt, other.Names, other.Methods)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Explain(ctx, m); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

// TestAskRefusals: what is wrong whatever the model is one clear line.
func TestAskRefusals(t *testing.T) {
	ok := sources.Ask{Documents: []string{house}, Question: "who has the lamp ?"}
	must(t, ok.Check())
	for want, change := range map[string]func(*sources.Ask){
		"no document is given":               func(a *sources.Ask) { a.Documents = nil },
		"document 2 of 2 has no text":        func(a *sources.Ask) { a.Documents = []string{house, " \n"} },
		"the documents have 1 of":            func(a *sources.Ask) { a.Documents = []string{"a ."} },
		"b.txt: the documents have 1 of":     func(a *sources.Ask) { a.Documents, a.Names = []string{"a ."}, []string{"b.txt"} },
		"b.txt: span 0:999; the document":    func(a *sources.Ask) { a.By, a.Names = "0:2,0:999", []string{"b.txt"} },
		"document 1 of 1 is no text: byte 3": func(a *sources.Ask) { a.Documents = []string{"caf\xe9 . a ."} },
		"the question is no text: byte 0":    func(a *sources.Ask) { a.Question = "\xff" },
		"the question is empty":              func(a *sources.Ask) { a.Question = "" },
		"2 names for 1 documents":            func(a *sources.Ask) { a.Names = []string{"a", "b"} },
		"want sentence, paragraph":           func(a *sources.Ask) { a.By = "word" },
		"span 0:999; the document has bytes": func(a *sources.Ask) { a.By = "0:2,0:999" },
		"the template has no {question}":     func(a *sources.Ask) { a.Template = "{context}" },
		"the template has {context} 2 times": func(a *sources.Ask) { a.Template = "{question}{context}{context}" },
		"the answer is white space":          func(a *sources.Ask) { a.Answer = " \n" },
		"MaxTokens 5 does not go with":       func(a *sources.Ask) { a.Answer, a.MaxTokens = "john", 5 },
		"MaxTokens 4097; the number must be": func(a *sources.Ask) { a.MaxTokens = 4097 },
		"MaxTokens -1; the number must be":   func(a *sources.Ask) { a.MaxTokens = -1 },
		"specials 9; it must be":             func(a *sources.Ask) { a.Specials = 9 },
		"specials do not go with a chat":     func(a *sources.Ask) { a.Chat, a.Specials = true, trace.SpecialsOff },
		`method "lime" of sources is`:        func(a *sources.Ask) { a.Options.Methods = []string{"lime"} },
		"penalty NaN; it must be":            func(a *sources.Ask) { a.Options.Penalty = new(math.NaN()) },
	} {
		a := ok
		change(&a)
		err := a.Check()
		if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		if _, again := a.Explain(t.Context(), nil); err == nil || again == nil ||
			again.Error() != err.Error() {
			t.Errorf("Explain says %v, Check %v", again, err)
		}
	}
	m, err := models.Open("", models.Options{})
	must(t, err)
	translated := ok
	translated.To = "fr"
	if _, err := translated.Explain(t.Context(), m); !errors.Is(err, trace.ErrUsage) ||
		!strings.Contains(err.Error(), "does not translate") {
		t.Errorf("the answer is in French: error %v", err)
	}
	ok.Chat = true
	if _, err := ok.Explain(t.Context(), m); err == nil {
		t.Error("a model without a chat template is asked in a chat")
	}
}

// TestManyParagraphs: a document of as many paragraphs as fit into a megabyte is divided at once.
func TestManyParagraphs(t *testing.T) {
	began := time.Now()
	a := sources.Ask{Documents: []string{strings.Repeat("a.\n\n", 1<<18)}, Question: "why?"}
	must(t, a.Check())
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("dividing took %v", took)
	}
}

var must = testhelp.Must // ends a test at an error
