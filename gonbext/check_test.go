package gonbext_test

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/message"
)

func init() {
	one, four, minus, half := 1, 4, -1, 0.5
	type settings = []gonbext.Setting
	for name, given := range map[string]settings{
		"both":          {gonbext.Options{MaxTokens: 3, Continuation: " are"}},
		"tokens":        {gonbext.Options{MaxTokens: -5}},
		"alternatives":  {gonbext.Options{Alternatives: -1}},
		"memory":        {gonbext.Model{MaxMemory: -1}},
		"layer below":   {gonbext.Show{Layer: &minus}},
		"layer beyond":  {gonbext.Show{Layer: &one}},
		"token beyond":  {gonbext.Show{Token: &four}},
		"layer outside": {gonbext.Show{Layer: &four}, gonbext.Options{LastLayer: &one}},
		"layer too low": {gonbext.Options{FirstLayer: 2}, gonbext.Show{Layer: &one}},
		"NaN":           {gonbext.Options{Threshold: math.NaN()}},
		"temperature":   {gonbext.Options{Sampling: trace.Sampling{Temperature: -1}}},
		"position":      {gonbext.Options{Positions: []int{-1}}},
		"misspelt":      {gonbext.Options{Methods: []string{"rolout"}}},
		"palette":       {gonbext.Show{Palette: "gren-purple"}},
		"proved words":  {gonbext.Options{Studies: gonbext.Studies{"prove": "all"}}, gonbext.Show{By: "word"}},

		"long name":      {gonbext.Model{Name: strings.Repeat("x", 5000)}},
		"long data type": {gonbext.Model{DType: strings.Repeat("x", 100)}},
	} {
		cells["wrong "+name] = func() {
			e, err := gonbext.TryExplain("the keys", given...)
			fmt.Println(e == nil, errors.Is(err, trace.ErrUsage), err)
		}
	}
	said := func(_ any, err error) { fmt.Println(true, errors.Is(err, trace.ErrUsage), err) }
	cells["wrong empty prompt"] = func() { said(gonbext.TryExplain("")) }
	cells["wrong empty trace"] = func() { said(gonbext.TryTrace("", trace.Attention)) }
	cells["wrong source"] = func() { said(gonbext.TryExplain("a", gonbext.Show{Source: &one})) }
	cells["wrong heads"] = func() {
		said(gonbext.TryExplain("a", gonbext.Show{Kind: "heads"}, gonbext.Options{Residual: &half}))
	}
	cells["wrong maps"] = func() {
		said(gonbext.TryExplain("a", gonbext.Show{Kind: "maps", Token: &one}))
	}
	cells["layer of the model"] = func() { gonbext.Explain("the keys", gonbext.Show{Layer: &one}) }
}

// TestWrongOptions checks that each wrong option gives one line that says what is wrong. Most are
// found without an engine.
func TestWrongOptions(t *testing.T) {
	_, misspelt := attribution.LookupMethod("rolout")
	for name, c := range map[string]struct {
		want  string
		asked bool // whether the engine is asked
	}{
		"both":           {"gonbext: MaxTokens 3 and a continuation", false},
		"tokens":         {"gonbext: MaxTokens -5; it must be in [1,4096]", false},
		"alternatives":   {"gonbext: Alternatives -1", false},
		"memory":         {"gonbext: MaxMemory -1 bytes", false},
		"layer below":    {"gonbext: layer -1; they count from 0", false},
		"layer beyond":   {`gonbext: Layer 1; "tiny" has layers 0 to 0`, true},
		"token beyond":   {"gonbext: token 4; the explanation has 1 token, from 0", true},
		"layer outside":  {"gonbext: Layer 4; the last layer that is combined is LastLayer 1", false},
		"layer too low":  {"gonbext: Layer 1; the first layer that is combined is FirstLayer 2", false},
		"palette":        {`gonbext: unknown palette "gren-purple"; did you mean green-purple?`, false},
		"proved words":   {"gonbext: Studies[\"prove\"] tests tokens as the model has them: leave By out\n", false},
		"NaN":            {"gonbext: Threshold NaN", false},
		"temperature":    {"gonbext: Sampling.Temperature -1", false},
		"position":       {"gonbext: Positions -1", false},
		"misspelt":       {"gonbext: " + message.Words(misspelt, nil) + "\n", true},
		"empty prompt":   {"gonbext: the prompt is empty; give some text\n", false},
		"empty trace":    {"gonbext: the prompt is empty; give some text\n", false},
		"source":         {"gonbext: Source 1 is for gonbext.FlowGraph; leave it out\n", false},
		"heads":          {"gonbext: Residual does nothing here: a picture of heads shows the method raw, ", false},
		"maps":           {"gonbext: a picture of maps has all tokens; leave the token out\n", false},
		"long name":      {"gonbext: model name of 5000 bytes; at most 4096", false},
		"long data type": {"gonbext: name of a data type of 100 bytes; at most 64", false},
	} {
		t.Run(name, func(t *testing.T) {
			asked := make(chan struct{}, 1)
			k := newKernel(t, func(conn *engineConn, r engine.Request) {
				asked <- struct{}{}
				if name == "misspelt" {
					failure := engine.Error{Message: message.Words(misspelt, nil), Usage: true}
					conn.send(engine.Event{Failure: &failure})
					return
				}
				begin(conn)
				step(conn, " are")
				conn.send(engine.Event{Done: true})
			})
			r := k.run("wrong "+name, false)
			if !strings.HasPrefix(r.stdout, "true true "+c.want) ||
				strings.Count(r.stdout, "\n") != 1 || r.status != 0 {
				t.Errorf("status %d, says %.300q, want %q", r.status, r.stdout, c.want)
			}
			said := strings.Replace(r.stdout, "gonbext: ", "", 1)
			names := regexp.MustCompile(`(^|: )(attribution|chart|engine|models|render): `)
			if names.MatchString(said) {
				t.Errorf("%q names a package beside gonbext", r.stdout)
			}
			if (len(asked) > 0) != c.asked {
				t.Errorf("the engine was asked: %v, want %v", len(asked) > 0, c.asked)
			}
		})
	}
}

// A layer that the model does not have gives one line, and no picture stays.
func TestLayerOfTheModel(t *testing.T) {
	k := newKernel(t, func(conn *engineConn, _ engine.Request) {
		begin(conn)
		step(conn, " are")
		conn.send(engine.Event{Done: true})
	})
	r := k.run("layer of the model", true)
	left := saved(r.displays)
	if r.status != 0 || len(left) != 1 ||
		!strings.Contains(fmt.Sprint(left[0]),
			"gonbext: Layer 1; &#34;tiny&#34; has layers 0 to 0</div>") {
		t.Errorf("status %d, saved %v", r.status, left)
	}
}
