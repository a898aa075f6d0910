package models

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// TestBeams compares what searches and greedy generation give with generate of transformers; see
// testdata/beams/record.py. The targets have a start and, where it is forced, a first token.
func TestBeams(t *testing.T) {
	var cases []struct {
		Model    string
		Source   []int
		Settings map[string]any
		Target   []int
	}
	data, err := os.ReadFile("testdata/beams/beams.json")
	must(t, err)
	must(t, json.Unmarshal(data, &cases))
	models := map[string]*Model{}
	ended, unlike := 0, 0
	for _, c := range cases {
		m := models[c.Model]
		if m == nil {
			m, err = Open(filepath.Join("testdata", "goldens", c.Model), Options{Backend: "go"})
			must(t, err)
			models[c.Model] = m
		}
		number := func(key string, byDefault float64) float64 {
			if x, ok := c.Settings[key].(float64); ok {
				return x
			}
			return byDefault
		}
		view := *m
		view.beams = beamRules{penalty: number("length_penalty", 1)}
		view.beams.early = c.Settings["early_stopping"] == true
		view.beams.never = c.Settings["early_stopping"] == "never"
		view.ends = map[int]bool{2: true}
		if list, ok := c.Settings["eos_token_id"].([]any); ok {
			for _, id := range list {
				view.ends[int(id.(float64))] = true
			}
		}
		ids, want := append(slices.Clone(c.Source), m.info.Boundary()), c.Target
		if _, ok := c.Settings["forced_bos_token_id"]; ok {
			ids, want = append(ids, want[0]), want[1:]
		}
		beams := int(number("num_beams", 1))
		most := 8 - (len(ids) - len(c.Source) - 1)
		var got []int
		for step, err := range view.Steps(t.Context(), ids, trace.Ask{
			MaxTokens: most, Sampling: trace.Sampling{Beams: beams},
		}) {
			must(t, err)
			got = append(got, step.Next.Token.ID)
			if step.Next.Stop && len(got) < most {
				ended++
			}
		}
		if !slices.Equal(got, want) {
			if unlike++; unlike < 10 {
				t.Errorf("%s %v %v: %v, want %v", c.Model, c.Source, c.Settings, got, want)
			}
		}
	}
	if len(cases) != 192 || ended < 10 || unlike > 0 {
		t.Errorf("%d cases, %d ended early, %d are unlike the reference", len(cases), ended, unlike)
	}
}

// TestBeamRules reads what generation_config.json says of a search, and refuses other values.
func TestBeamRules(t *testing.T) {
	dir := translator(t, "marian", map[string]string{
		"generation_config.json": `{"num_beams":6,"length_penalty":0.5,"early_stopping":"never"}`,
	})
	m, err := Open(dir, Options{Backend: "go"})
	must(t, err)
	if want := (beamRules{penalty: 0.5, never: true}); m.beams != want ||
		!strings.Contains(strings.Join(m.info.Remarks, ""), "asks for 6 beams") {
		t.Errorf("%+v, want %+v; remarks %q", m.beams, want, m.info.Remarks)
	}
	for _, wrong := range []string{`{"length_penalty":"x"}`, `{"early_stopping":3}`} {
		dir := translator(t, "marian", map[string]string{"generation_config.json": wrong})
		if _, err := Open(dir, Options{Backend: "go"}); err == nil ||
			!strings.Contains(err.Error(), "want") {
			t.Errorf("%s: error %v", wrong, err)
		}
	}
	ids := []int{7, m.info.Boundary()}
	for _, s := range []trace.Sampling{{Beams: 65}, {Beams: -1}, {Beams: 2, Temperature: 1}} {
		for _, err := range m.Steps(t.Context(), ids, trace.Ask{MaxTokens: 2, Sampling: s}) {
			if err == nil {
				t.Errorf("%+v is taken", s)
			}
		}
	}
}
