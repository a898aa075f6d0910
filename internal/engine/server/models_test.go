package server_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/engine/server"
)

func TestModelsStayOpen(t *testing.T) {
	var mu sync.Mutex
	opened := map[string]int{}
	client, _ := serve(t, server.Config{Open: func(
		_ context.Context, which engine.Model, _ func(trace.Progress),
	) (trace.Model, error) {
		name, backend := which.Name, which.Backend
		mu.Lock()
		defer mu.Unlock()
		opened[name+"/"+backend]++
		if name == "bad" && opened[name+"/"] == 1 {
			return nil, errors.New("models: no such thing")
		}
		return &wordModel{}, nil
	}})
	var all sync.WaitGroup
	for range 4 { // clients that come together
		all.Go(func() {
			opts := attribution.Options{MaxTokens: 2}
			_, err := client.Explain(t.Context(), engine.Model{Name: "tiny"}, "a b", opts)
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	_, err := client.Explain(t.Context(), engine.Model{Name: "bad"}, "a", attribution.Options{})
	if err == nil || err.Error() != "models: no such thing" {
		t.Errorf("error = %v, want the opener's", err)
	}
	for _, m := range []engine.Model{{Name: "tiny", Backend: "xla"}, {Name: "bad"}} {
		_, err := client.Explain(t.Context(), m, "a", attribution.Options{MaxTokens: 1})
		if err != nil {
			t.Errorf("%v: %v", m, err)
		}
	}
	if diff := cmp.Diff(map[string]int{"tiny/": 1, "tiny/xla": 1, "bad/": 2}, opened); diff != "" {
		t.Errorf("opened (-want +got):\n%s", diff)
	}
	s, err := client.Info(t.Context())
	if diff := cmp.Diff([]string{"bad", "tiny", "tiny"}, s.Models); err != nil || diff != "" {
		t.Errorf("status %+v, %v", s, err)
	}
}

// heavyModel is a model of 1000 bytes that accepts a memory limit.
type heavyModel struct{ wordModel }

func (m *heavyModel) Memory() trace.Memory { return trace.Memory{Weights: 1000} }

func (m *heavyModel) Within(maxMemory int64) (trace.Model, error) {
	if maxMemory > 0 && maxMemory < 1000 {
		return nil, fmt.Errorf("models: it takes 1000 bytes, and the limit is %d", maxMemory)
	}
	return m, nil
}

// TestOneModelForAllLimits checks that each request has its own limit on one model, opened once.
func TestOneModelForAllLimits(t *testing.T) {
	opened := 0
	client, _ := serve(t, server.Config{
		Open: func(
			_ context.Context, which engine.Model, _ func(trace.Progress),
		) (trace.Model, error) {
			if opened++; which.MaxMemory > 0 && which.MaxMemory < 1000 {
				return nil, errors.New("models: the weights do not fit")
			}
			return &heavyModel{}, nil
		},
		Name: func(m engine.Model) engine.Model {
			if m.Name == "" {
				m.Name = "heavy"
			}
			return m
		},
	})
	ask := func(name string, limit int64) error {
		_, err := client.Explain(t.Context(), engine.Model{Name: name, MaxMemory: limit}, "a",
			attribution.Options{MaxTokens: 1})
		return err
	}
	if err := ask("heavy", 999); err == nil || err.Error() != "models: the weights do not fit" {
		t.Errorf("below the weights, before it is open: %v", err)
	}
	for _, limit := range []int64{2000, 3000, 1000, 0, 4000, 5000, 6000, 7000, 8000, 9000} {
		if err := ask("", limit); err != nil {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
	if err := ask("heavy", 999); err == nil ||
		err.Error() != "models: it takes 1000 bytes, and the limit is 999" {
		t.Errorf("below the weights: %v", err)
	}
	s, err := client.Info(t.Context())
	if diff := cmp.Diff([]string{"heavy"}, s.Models); err != nil || diff != "" || opened != 2 {
		t.Errorf("status %+v, %v after %d openings, want one model and 2", s, err, opened)
	}
}

// TestModelsLeave checks that the least recently used model is closed if there are too many, and
// never one in use.
func TestModelsLeave(t *testing.T) {
	for name, c := range map[string]struct {
		config server.Config
		fails  int // openings of "d" that find no memory
		want   []string
	}{
		"too many":      {server.Config{Models: 3}, 0, []string{"b", "c", "d"}},
		"too heavy":     {server.Config{Models: 9, Bytes: 2500}, 0, []string{"c", "d"}},
		"no memory":     {server.Config{Models: 9}, 2, []string{"c", "d"}},
		"for good":      {server.Config{Models: 9}, 99, []string{}},
		"heavier alone": {server.Config{Models: 9, Bytes: 10}, 0, []string{"d"}},
	} {
		t.Run(name, func(t *testing.T) {
			fails := c.fails
			c.config.Open = func(
				_ context.Context, which engine.Model, _ func(trace.Progress),
			) (trace.Model, error) {
				if which.Name == "d" && fails > 0 {
					fails--
					return nil, fmt.Errorf("models: full: %w", server.ErrMemory)
				}
				return &heavyModel{}, nil
			}
			client, _ := serve(t, c.config)
			ask := func(name string) error {
				_, err := client.Explain(t.Context(), engine.Model{Name: name}, "a",
					attribution.Options{MaxTokens: 1})
				return err
			}
			for _, name := range []string{"b", "a", "c", "b", "c"} { // a is the oldest
				must(t, ask(name))
			}
			if err := ask("d"); (err != nil) != (c.fails == 99) {
				t.Errorf("the last model: error %v", err)
			}
			s, err := client.Info(t.Context())
			if diff := cmp.Diff(c.want, append([]string{}, s.Models...)); err != nil || diff != "" {
				t.Errorf("models left (-want +got), %v:\n%s", err, diff)
			}
		})
	}
}

// TestModelInUseStays checks that a surplus model is closed only when no request uses it any more.
func TestModelInUseStays(t *testing.T) {
	m := &wordModel{gate: make(chan struct{})}
	client, _ := serve(t, server.Config{Models: 1, Open: one(m)})
	held := func(want ...string) {
		t.Helper()
		s, err := client.Info(t.Context())
		if diff := cmp.Diff(want, s.Models); err != nil || diff != "" {
			t.Errorf("models (-want +got), %v:\n%s", err, diff)
		}
	}
	ask := func(name string, step func(*attribution.Explanation), tokens int) {
		t.Helper()
		_, err := client.Explain(t.Context(), engine.Model{Name: name}, "a", attribution.Options{
			MaxTokens: tokens, OnStep: step,
		})
		if err != nil {
			t.Error(err)
		}
	}
	ask("a", func(e *attribution.Explanation) {
		if len(e.Steps) == 1 {
			ask("b", nil, 1) // it opens beside a
			held("a")
			m.gate <- struct{}{}
		}
	}, 2)
	held("a")
	ask("b", nil, 1)
	held("b")
}

// TestMisspeltModel checks that a name without a model does not remove another model.
func TestMisspeltModel(t *testing.T) {
	client, _ := serve(t, server.Config{
		Models: 1,
		Open: func(
			_ context.Context, which engine.Model, _ func(trace.Progress),
		) (trace.Model, error) {
			if which.Name != "good" {
				return nil, errors.New("models: no such model")
			}
			return &wordModel{}, nil
		},
	})
	for _, name := range []string{"good", "god"} {
		_, err := client.Explain(t.Context(), engine.Model{Name: name}, "a",
			attribution.Options{MaxTokens: 1})
		if (err != nil) != (name == "god") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s, err := client.Info(t.Context()); err != nil || len(s.Models) != 1 {
		t.Errorf("status %+v, %v, want the good model", s, err)
	}
}
