package attribution_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
	"github.com/headwater-ml/headwater/internal/message"
)

// values has, for every option, a text that it reads, the options that this makes, and texts that
// it refuses.
var values = map[string]struct {
	text    string
	want    attribution.Options
	refused []string
}{
	"methods":         {"rollout,flow", attribution.Options{Methods: []string{"rollout", "flow"}}, []string{"", "rolout", "flow,"}},
	"max tokens":      {"4096", attribution.Options{MaxTokens: 4096}, []string{"", "0", "4097", "-1", "x", "1.5"}},
	"pair":            {"two words", attribution.Options{Pair: "two words"}, nil},
	"continuation":    {" are", attribution.Options{Continuation: " are"}, []string{""}},
	"positions":       {"3,0", attribution.Options{Positions: []int{3, 0}}, []string{"", "-1", "1,", "1000001"}},
	"source language": {"en", attribution.Options{From: "en"}, []string{""}},
	"target language": {"fr", attribution.Options{To: "fr"}, []string{""}},
	"specials":        {"off", attribution.Options{Specials: trace.SpecialsOff}, []string{"", "On", "2"}},
	"chat":            {"true", attribution.Options{Chat: true}, []string{"", "yes please"}},
	"system text":     {"be kind", attribution.Options{Conversation: trace.Conversation{System: "be kind"}}, []string{""}},
	"messages": {
		`[{"role":"user","content":"a"}]`,
		attribution.Options{Conversation: trace.Conversation{
			Messages: []trace.Message{{Role: "user", Content: "a"}},
		}},
		[]string{"", "5", `[{"content":"a"}]`, `{"tools":[]}`, `[{"role":"user","content":5}]`},
	},
	"tools": {
		`[{"b":1,"a":2}]`,
		attribution.Options{Conversation: trace.Conversation{Tools: []byte(`[{"b":1,"a":2}]`)}},
		[]string{"", "{}"},
	},
	"chat variables": {
		"enable_thinking=false",
		attribution.Options{Conversation: trace.Conversation{
			Variables: trace.Variables{"enable_thinking": json.RawMessage("false")},
		}},
		[]string{"", "enable_thinking", "=1"},
	},
	"chat template": {"tool_use", attribution.Options{Conversation: trace.Conversation{Template: "tool_use"}}, []string{""}},
	"date":          {"2026-11-26", attribution.Options{Conversation: trace.Conversation{Date: "2026-11-26"}}, []string{"", "today", "2026-13-01"}},
	"temperature":   {"100", attribution.Options{Sampling: trace.Sampling{Temperature: 100}}, []string{"", "NaN", "Inf", "-1", "100.5"}},
	"beams":         {"4", attribution.Options{Sampling: trace.Sampling{Beams: 4}}, []string{"0", "65"}},
	"top-k":         {"1000000", attribution.Options{Sampling: trace.Sampling{TopK: 1_000_000}}, []string{"-1", "1000001"}},
	"top-p":         {"1", attribution.Options{Sampling: trace.Sampling{TopP: 1}}, []string{"1.01", "NaN"}},
	"seed":          {"18446744073709551615", attribution.Options{Sampling: trace.Sampling{Seed: 1<<64 - 1}}, []string{"-1", "x"}},
	"alternatives":  {"1000", attribution.Options{Alternatives: 1000}, []string{"0", "1001"}},
	"residual":      {"0.25", attribution.Options{Residual: new(0.25)}, []string{"", "1.01", "-0.1", "NaN"}},
	"drop sink":     {"true", attribution.Options{DropSink: true}, []string{"x"}},
	"discard":       {"0.75", attribution.Options{Discard: 0.75}, []string{"1", "-0.1", "NaN"}},
	"heads":         {"max", attribution.Options{Heads: trace.Heads{Fusion: trace.MaxHeads}}, []string{"", "each", "-1", "1000001"}},
	"per-head":      {"7", attribution.Options{PerHead: new(7)}, []string{"", "-1", "1000001"}},
	"threshold":     {"1e+06", attribution.Options{Threshold: 1e6}, []string{"-1", "1000001", "NaN"}},
	"layers":        {"2:5", attribution.Options{FirstLayer: 2, LastLayer: new(5)}, []string{"", ":", "a:b", "1:1000001"}},
	"contrast":      {" is", attribution.Options{Contrast: " is"}, nil},
	"quantity":      {"logit", attribution.Options{Scoring: scorer.Options{Quantity: trace.Logit}}, []string{"", "loss"}},
	"batch":         {"1024", attribution.Options{Scoring: scorer.Options{Batch: 1024}}, []string{"0", "1025"}},
	"replacement":   {"mask", attribution.Options{Scoring: scorer.Options{Replacement: "mask"}}, nil},
	"foils":         {"100", attribution.Options{Foils: new(100)}, []string{"-1", "101"}},
	"steps":         {"1024", attribution.Options{Scoring: scorer.Options{Steps: 1024}}, []string{"0", "1025"}},
	"samples":       {"16384", attribution.Options{Scoring: scorer.Options{Samples: 16384}}, []string{"0", "16385"}},
	"scoring seed":  {"5", attribution.Options{Scoring: scorer.Options{Seed: 5}}, []string{"-1"}},
	"by":            {"sentence", attribution.Options{By: "sentence"}, []string{"", "sentences", "4:2"}},
	"target":        {"sentence:3", attribution.Options{Target: "sentence:3"}, []string{"", "turn", "sentence:0", "answer:1", "0:4,2:6"}},
	"patch": {
		"heads", attribution.Options{Studies: attribution.Studies{"patch": "heads"}}, []string{"head", "3"},
	},
	"patch direction": {
		"noising", attribution.Options{Studies: attribution.Studies{"patch-direction": "noising"}}, []string{"back"},
	},
	"patch estimate": {
		"alone", attribution.Options{Studies: attribution.Studies{"patch-estimate": "alone"}}, []string{"", "true"},
	},
	"patch receiver": {
		"3.1.key", attribution.Options{Studies: attribution.Studies{"patch-receiver": "3.1.key"}}, []string{"", "3", "3.1.output"},
	},
	"patch steps":   {"3", attribution.Options{Studies: attribution.Studies{"patch-steps": "3"}}, []string{"0", "101", "x"}},
	"corrupted":     {"a b", attribution.Options{Studies: attribution.Studies{"corrupted": "a b"}}, []string{""}},
	"prove":         {"3", attribution.Options{Studies: attribution.Studies{"prove": "3"}}, []string{"", "some", "-1", "4096"}},
	"lift":          {"true", attribution.Options{Lift: true}, []string{"x"}},
	"all levels":    {"true", attribution.Options{AllLevels: true}, []string{"x"}},
	"all layers":    {"true", attribution.Options{AllLayers: true}, []string{"x"}},
	"lens":          {"opening", attribution.Options{Studies: attribution.Studies{"lens": "opening"}}, []string{"", "x", "-1", "4096", "all"}},
	"head kinds":    {"text", attribution.Options{Studies: attribution.Studies{"head-kinds": "text"}}, []string{"", "all"}},
	"without":       {"turn:2", attribution.Options{Studies: attribution.Studies{"without": "turn:2"}}, []string{"", "turn", "turn:0", "turn:+2", "turn:02", "system:1", "sytem", "4:2", "document:x"}},
	"prompt scores": {"true", attribution.Options{Studies: attribution.Studies{"prompt-scores": "true"}}, []string{"x"}},
	"edits": {
		`[{"tap":"hidden","layers":[1],"change":"zero"}]`,
		attribution.Options{Edits: []trace.Edit{{
			Tap: trace.Hidden, Layers: []int{1}, Change: trace.SetZero,
		}}},
		[]string{"", "{}", `[{"tap":"stream","change":"zero"}]`, `[{"layer":1}]`},
	},
}

// Every row reads what it writes, sets its own field alone, and refuses what it cannot read.
func TestOptionTable(t *testing.T) {
	table := attribution.OptionTable()
	for _, row := range table {
		v, ok := values[row.Name]
		if !ok {
			t.Errorf("%s: the test has no value for it", row.Name)
			continue
		}
		var o attribution.Options
		if row.Given(&o) {
			t.Errorf("%s is given in the zero value", row.Name)
		}
		if err := row.Set(&o, v.text); err != nil || !reflect.DeepEqual(o, v.want) {
			t.Errorf("%s %q: %+v, %v; want %+v", row.Name, v.text, o, err, v.want)
		}
		if !row.Given(&o) || row.Text(&o) != v.text {
			t.Errorf("%s %q: given %v, written as %q",
				row.Name, v.text, row.Given(&o), row.Text(&o))
		}
		for _, other := range table {
			if other.Name != row.Name && other.Given(&o) {
				t.Errorf("%s gives %s too", row.Name, other.Name)
			}
		}
		for _, text := range v.refused {
			var o attribution.Options
			err := row.Set(&o, text)
			if !errors.Is(err, trace.ErrUsage) || strings.Contains(err.Error(), "--") {
				t.Errorf("%s %q: error %v, want one of usage", row.Name, text, err)
			}
		}
		if row.Switch(&o) != nil && !*row.Switch(&o) {
			t.Errorf("%s: Switch is another field", row.Name)
		}
	}
	if len(table) != len(values) {
		t.Errorf("%d rows; the test has %d", len(table), len(values))
	}
}

// The largest number that a row reads is the largest that the check takes: both have one range.
func TestOptionRanges(t *testing.T) {
	for _, row := range attribution.OptionTable() {
		o := attribution.Options{Sampling: trace.Sampling{Temperature: 1}}
		switch row.Name { // which need others
		case "patch", "patch direction", "patch estimate", "corrupted":
			o.Studies = attribution.Studies{"patch": "residual", "corrupted": "a b"}
		case "patch steps":
			o.Studies = attribution.Studies{"patch": "edges", "corrupted": "a b"}
		case "patch receiver":
			o.Studies = attribution.Studies{"patch": "path", "corrupted": "a b"}
		}
		if row.Name == "continuation" || row.Name == "beams" {
			o.Sampling = trace.Sampling{} // which does not go with it
		}
		must(t, row.Set(&o, values[row.Name].text))
		if err := o.Check(); err != nil {
			t.Errorf("%s reads %q, and the check refuses it: %v",
				row.Name, values[row.Name].text, err)
		}
	}
}

// optionFields sets every field of a struct in turn, those of structs in it one by one, and visits
// it.
func optionFields(t *testing.T, v reflect.Value, path string, visit func(path string)) {
	for i := range v.NumField() {
		field, name := v.Field(i), path+v.Type().Field(i).Name
		whole := field.Type() == reflect.TypeFor[trace.Heads]()
		switch {
		case field.Kind() == reflect.Func: // OnStep, OnProgress
			continue
		case name == "Studies": // whose rows are those of studies
			continue
		case name == "Scoring.Groups": // which Explain sets
			continue
		case field.Kind() == reflect.Struct && !whole:
			optionFields(t, field, name+".", visit)
			continue
		case whole:
			field.Set(reflect.ValueOf(trace.Heads{Fusion: trace.MaxHeads}))
		case field.Kind() == reflect.Map:
			field.Set(reflect.ValueOf(trace.Variables{"x": 1}))
		case field.Kind() == reflect.Slice:
			field.Set(reflect.MakeSlice(field.Type(), 1, 1))
		case field.Kind() == reflect.Pointer:
			field.Set(reflect.New(field.Type().Elem()))
		case field.Kind() == reflect.Bool:
			field.SetBool(true)
		case field.Kind() == reflect.String:
			field.SetString("x")
		case field.CanInt():
			field.SetInt(1)
		case field.CanUint():
			field.SetUint(1)
		case field.CanFloat():
			field.SetFloat(0.5)
		default:
			t.Fatalf("%s is a %v: teach the test", name, field.Type())
		}
		visit(name)
		field.SetZero()
	}
}

// Every field of Options has one row, so that none is left unchecked or out of the help.
func TestOptionTableIsComplete(t *testing.T) {
	var o attribution.Options
	fields := 0
	optionFields(t, reflect.ValueOf(&o).Elem(), "", func(path string) {
		fields++
		var rows []string
		for _, row := range attribution.OptionTable() {
			if row.Given(&o) {
				rows = append(rows, row.Name)
			}
		}
		if len(rows) != 1 {
			t.Errorf("%s is in the rows %q, want one", path, rows)
			return
		}
		field := attribution.LookupOption(rows[0]).Field
		if !slices.Contains(strings.Split(field, " and "), path) {
			t.Errorf("the row %s says that its field is %s, and it is %s", rows[0], field, path)
		}
	})
	if fields < 30 {
		t.Errorf("%d fields; the others were not visited", fields)
	}
}

// An error about an option carries its name, so that a program can say how it calls the option. No
// text of the library has a flag in it.
func TestOptionErrors(t *testing.T) {
	for name, o := range map[string]attribution.Options{
		"max tokens": {MaxTokens: -1},
		"specials":   {Specials: trace.SpecialsOn, Chat: true},
		"messages":   {Conversation: trace.Conversation{Date: "x"}},
		"seed":       {Sampling: trace.Sampling{Seed: 1}},
		"per-head":   {PerHead: new(1), Heads: trace.Heads{Fusion: trace.MaxHeads}},
		"lift":       {Lift: true, Discard: 0.5},
		"layers":     {FirstLayer: -1},
		"heads":      {Heads: trace.Heads{Fusion: trace.EachHead}},
		"contrast":   {Contrast: strings.Repeat("x", 1<<20+1)},
	} {
		var usage *trace.UsageError
		if err := o.Check(); !errors.As(err, &usage) || usage.Option != name ||
			strings.Contains(err.Error(), "--") {
			t.Errorf("%s: error %.200v, want a usage error about it", name, err)
		}
	}
	for _, row := range attribution.OptionTable() {
		if strings.Contains(row.Usage(), "--") || strings.Contains(row.Usage(), "\n") ||
			row.Help == "" {
			t.Errorf("%s: help %q", row.Name, row.Usage())
		}
	}
	const want = "generate at most `N` tokens, from 1 to 4096 (default 16)"
	if got := attribution.LookupOption("max tokens").Usage(); got != want {
		t.Errorf("usage %q, want %q", got, want)
	}
	if row := attribution.LookupOption("max-tokens"); row.Name != "" {
		t.Errorf("LookupOption finds %q, an option that there is not", row.Name)
	}
}

// SetOptions reads several options, of which a value may have commas, and refuses what it does not
// know.
func TestSetOptions(t *testing.T) {
	all, rows := attribution.OptionTable(), attribution.OptionTable(attribution.MethodOptions)
	for text, want := range map[string]attribution.Options{
		"heads=max":                 {Heads: trace.Heads{Fusion: trace.MaxHeads}},
		"lift":                      {Lift: true},
		"lift=false":                {},
		"lift,all-layers":           {Lift: true, AllLayers: true},
		"discard=0.5,layers=1:2":    {Discard: 0.5, FirstLayer: 1, LastLayer: new(2)},
		"replacement=,,lift":        {Lift: true, Scoring: scorer.Options{Replacement: ","}},
		"replacement=a, b,lift":     {Lift: true, Scoring: scorer.Options{Replacement: "a, b"}},
		"replacement==":             {Scoring: scorer.Options{Replacement: "="}},
		"chat-date=2026-11-26":      {Conversation: trace.Conversation{Date: "2026-11-26"}},
		"steps=3,samples=4,foils=0": {Foils: new(0), Scoring: scorer.Options{Steps: 3, Samples: 4}},
	} {
		var got attribution.Options
		err := attribution.SetOptions(&got, all, text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                `there is no setting ""; known are discard, drop-sink, heads, layers, lift,`,
		"step=3":          `there is no setting "step"; known are discard,`,
		"thresold=1":      `did you mean threshold of value-zeroing, value-zeroing-euclidean, `,
		"head=1":          `did you mean heads of flow, flow-normalized, globenc and 9 more? known are`,
		"heads":           `heads has no value; write heads=mean|max|min|K`,
		"lift,discard=2":  `discard "2": want a number from 0 to below 1`,
		"lift=maybe":      `lift "maybe": want true or false`,
		"heads=max,a=1":   `there is no setting "a"`,
		"heads=max, lift": `heads "max, lift": want mean, max, min or the number of a head`,
	} {
		err := attribution.SetOptions(new(attribution.Options), rows, text)
		if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	err := attribution.SetOptions(new(attribution.Options), all, "step=3")
	const want = "did you mean steps of integrated-gradients? known are all-layers,"
	if !strings.Contains(fmt.Sprint(err), want) {
		t.Errorf("of all settings: error %v", err)
	}
}

// Options that are about methods have methods, each of which takes the option.
func TestOptionTakenBy(t *testing.T) {
	for name, want := range map[string]string{
		"residual":    "flow flow-normalized rollout",
		"lift":        "flow flow-normalized raw rollout",
		"threshold":   "value-zeroing value-zeroing-euclidean value-zeroing-final-norm value-zeroing-rollout",
		"foils":       "alti-logit direct",
		"replacement": "integrated-gradients occlusion",
		"steps":       "integrated-gradients",
		"samples":     "reagent",
		"all levels":  "flow flow-normalized",
		"date":        "",
	} {
		got := attribution.LookupOption(name).TakenBy()
		if strings.Join(got, " ") != want {
			t.Errorf("%s is taken by %v, want %s", name, got, want)
		}
	}
	for _, row := range attribution.OptionTable() {
		found := attribution.LookupOption(row.Key).Name == row.Name
		if (row.Key == "") == found || row.Key != "" && row.Flag != "" {
			t.Errorf("%s has the key %q and the flag %q", row.Name, row.Key, row.Flag)
		}
	}
}

// TestOptionCalled: an error about an option has the name that a user wrote, and its own without
// one.
func TestOptionCalled(t *testing.T) {
	for _, c := range []struct {
		o        attribution.Options
		own, set string
	}{
		{attribution.Options{MaxTokens: -1}, "max tokens -1; it must be", "--x -1; it must be"},
		{attribution.Options{Heads: trace.Heads{Fusion: trace.OneHead, Head: -1}}, "head -1; heads count", "--x -1; heads count"},
		{attribution.Options{Positions: []int{-1}}, "position -1;", "--x -1;"},
		{attribution.Options{Continuation: "a", MaxTokens: 2}, "max tokens 2 and a continuation;", "--x 2 and a continuation;"},
		{attribution.Options{Lift: true, Discard: 0.5}, "lift with discard", "--x with discard"},
		{attribution.Options{FirstLayer: -1}, "first layer -1; layers count from 0", "first layer -1; layers count from 0 (--x)"},
	} {
		err := c.o.Check()
		if got := err.Error(); !strings.HasPrefix(got, "attribution: "+c.own) {
			t.Errorf("%q, want %q", got, c.own)
		}
		called := func(option string) string { return "--x" }
		if got := message.Words(fmt.Errorf("line 1: %w", err), called); !strings.HasPrefix(got,
			"line 1: "+c.set) {
			t.Errorf("%q, want %q", got, c.set)
		}
	}
}

// The table is a copy: who changes it changes nothing.
func TestOptionTableIsACopy(t *testing.T) {
	table := attribution.OptionTable()
	slices.Reverse(table)
	if got := attribution.OptionTable(); got[0].Name != "methods" {
		t.Errorf("the first row is %s", got[0].Name)
	}
}

// What lies beyond the range that a row reads, the check refuses too.
func TestOptionsBeyondTheirRanges(t *testing.T) {
	drawn := func(s trace.Sampling) attribution.Options {
		if s.Temperature == 0 {
			s.Temperature = 1
		}
		return attribution.Options{Sampling: s}
	}
	scored := func(s scorer.Options) attribution.Options { return attribution.Options{Scoring: s} }
	for name, all := range map[string][]attribution.Options{
		"max tokens":   {{MaxTokens: 4097}, {MaxTokens: -1}},
		"alternatives": {{Alternatives: 1001}, {Alternatives: -1}},
		"steps":        {scored(scorer.Options{Steps: 1025}), scored(scorer.Options{Steps: -1})},
		"samples":      {scored(scorer.Options{Samples: 16385}), scored(scorer.Options{Samples: -1})},
		"batch":        {scored(scorer.Options{Batch: 1025}), scored(scorer.Options{Batch: -1})},
		"threshold":    {{Threshold: 1e6 + 1}, {Threshold: -1}},
		"residual":     {{Residual: new(1.01)}, {Residual: new(-0.01)}},
		"discard":      {{Discard: 1}, {Discard: -0.01}},
		"temperature":  {drawn(trace.Sampling{Temperature: 100.5}), drawn(trace.Sampling{Temperature: -1})},
		"top-k":        {drawn(trace.Sampling{TopK: 1_000_001}), drawn(trace.Sampling{TopK: -1})},
		"top-p":        {drawn(trace.Sampling{TopP: 1.01}), drawn(trace.Sampling{TopP: -0.01})},
	} {
		for _, o := range all {
			var usage *trace.UsageError
			if err := o.Check(); !errors.As(err, &usage) || usage.Option != name {
				t.Errorf("%s: error %v, want a usage error about it", name, err)
			}
		}
	}
}

// TestOptionsFor: options for one method are those that it takes, with their values.
func TestOptionsFor(t *testing.T) {
	two, top := 2, 1
	o := attribution.Options{
		Methods: []string{"rollout", "direct"}, Foils: &two, LastLayer: &top, MaxTokens: 3,
		Lift: true, Scoring: scorer.Options{Steps: 5},
	}
	for name, want := range map[string]attribution.Options{
		"rollout": {LastLayer: &top, MaxTokens: 3, Lift: true},
		"direct":  {Foils: &two, MaxTokens: 3},
		"integrated-gradients": {
			MaxTokens: 3, Foils: nil, Scoring: scorer.Options{Steps: 5},
		},
	} {
		want.Methods = []string{name}
		got, err := o.For(name)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%s: error %v (-want +got)\n%s", name, err, diff)
		}
	}
	if _, err := o.For("rolout"); !errors.Is(err, trace.ErrUsage) {
		t.Errorf("error %v, want a usage error", err)
	}
}

// TestAdvisedMethod: an option that no default method takes comes with advice to name a method, and
// that method takes it.
func TestAdvisedMethod(t *testing.T) {
	m := fakemodel.New(2, fakemodel.Evenly)
	m.About.Head = trace.NextToken
	for _, opts := range []attribution.Options{
		{Scoring: scorer.Options{Steps: 5}},
		{Scoring: scorer.Options{Samples: 5}},
		{Scoring: scorer.Options{Replacement: "mask"}},
		{Lift: true},
		{AllLevels: true},
	} {
		_, err := attribution.Explain(t.Context(), m, "w1", opts)
		advice := "; name methods that take it, such as "
		if err == nil || !strings.Contains(err.Error(), advice) {
			t.Errorf("error %v, want %q", err, advice)
			continue
		}
		_, advised, _ := strings.Cut(err.Error(), advice)
		opts.Methods = []string{advised}
		_, err = attribution.Explain(t.Context(), m, "w1", opts)
		if err != nil && strings.Contains(err.Error(), "applies to none") {
			t.Errorf("%q is advised, and then: %v", advised, err)
		}
	}
}
