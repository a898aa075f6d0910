package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/engine/server"
)

// TestFigures gets figures, each on its own model or all on the one that the request names; what
// was made before is not made again.
func TestFigures(t *testing.T) {
	var opened []string
	made := 0
	find := func(names []string) ([]server.Figure, error) {
		var some []server.Figure
		for _, name := range names {
			if name == "unknown" {
				return nil, trace.Usagef("figure %q is unknown; known are a, b", name)
			}
			some = append(some, server.Figure{ID: name, Model: "model-of-" + name, Make: func(
				context.Context, trace.Model, func(trace.Progress),
			) ([]byte, error) {
				made++
				return []byte(name + ";"), nil
			}})
		}
		return some, nil
	}
	client, _ := serve(t, server.Config{
		Open: func(
			_ context.Context, which engine.Model, _ func(trace.Progress),
		) (trace.Model, error) {
			opened = append(opened, which.Name)
			return &reader{}, nil
		},
		Figures: server.Figures{
			Find: find,
			Draw: func(p json.RawMessage, file string, look json.RawMessage) (
				[]byte, []string, error,
			) {
				data := "png of " + string(p) + file + string(look)
				return []byte(data), []string{"a note"}, nil
			},
		},
	})
	for _, c := range []struct {
		model engine.Model
		made  int
	}{{engine.Model{}, 2}, {engine.Model{}, 2}, {engine.Model{Name: "other"}, 4}} {
		steps := 0
		data, err := client.Figures(t.Context(), c.model, []string{"a", "b"},
			func(trace.Progress) { steps++ })
		if err != nil || string(data) != "a;b;" {
			t.Fatalf("figures %q, error %v", data, err)
		}
		if made != c.made || steps == 0 {
			t.Errorf("model %q: %d figures were made, want %d; %d steps of progress",
				c.model.Name, made, c.made, steps)
		}
	}
	if got := strings.Join(opened, " "); got != "model-of-a model-of-b other" {
		t.Errorf("opened %s", got)
	}
	_, err := client.Figures(t.Context(), engine.Model{}, []string{"unknown"}, nil)
	if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), "known are a, b") {
		t.Errorf("an unknown figure: %v", err)
	}
	png, _, err := client.Draw(t.Context(), "", json.RawMessage(`{"columns":1}`), nil)
	if err != nil || string(png) != `png of {"columns":1}` {
		t.Errorf("drew %q, error %v", png, err)
	}
	file, notes, err := client.Draw(t.Context(), "a.svg", json.RawMessage(`{}`),
		json.RawMessage(`{"size":"column"}`))
	if err != nil || string(file) != `png of {}a.svg{"size":"column"}` || len(notes) != 1 {
		t.Errorf("drew %q with notes %q, error %v", file, notes, err)
	}
}

// An engine that makes no figures says so.
func TestNoFigures(t *testing.T) {
	client, _ := serve(t, server.Config{Open: one(&reader{})})
	_, err := client.Figures(t.Context(), engine.Model{}, []string{"a"}, nil)
	if err == nil || !strings.Contains(err.Error(), "makes no figures") {
		t.Errorf("figures: %v", err)
	}
	if _, _, err = client.Draw(t.Context(), "", nil, nil); err == nil ||
		!strings.Contains(err.Error(), "draws no pictures") {
		t.Errorf("draw: %v", err)
	}
}
