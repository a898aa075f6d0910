package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/engine/server"
	"github.com/headwater-ml/headwater/internal/fakemodel"
	"github.com/headwater-ml/headwater/internal/sources"
)

// asks is a question about nine sentences of one word, and a model that says "yes" only for s4.
func asks() (sources.Ask, fakemodel.Continued) {
	var words []string
	for i := range 9 {
		words = append(words, fmt.Sprintf("s%d.", i))
	}
	m := fakemodel.NewContinued(append(slices.Clone(words), "why?", "yes"),
		func(prompt []string, _ int) float64 {
			if slices.Contains(prompt, "s4.") {
				return -0.5
			}
			return -8
		})
	return sources.Ask{
		Documents: []string{strings.Join(words, " ")}, Question: "why?", Answer: "yes",
		Template: "{context} {question}", Options: sources.Options{Passes: 6},
	}, m
}

// asked starts an engine with a model and returns a client.
func asked(t *testing.T, m trace.Model) engine.Client {
	t.Helper()
	dir, err := os.MkdirTemp("", "hw") // t.TempDir may be too long for a socket
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	config := server.Config{
		Socket: filepath.Join(dir, "e.sock"),
		Open: func(context.Context, engine.Model, func(trace.Progress)) (trace.Model, error) {
			return m, nil
		},
	}
	go func() { ended <- server.Serve(ctx, config) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		os.RemoveAll(dir)
	})
	for { // ends: the socket is there at once, or Serve has ended
		select {
		case err := <-ended:
			t.Fatal(err)
		default:
		}
		if c, err := net.Dial("unix", config.Socket); err == nil {
			c.Close()
			return engine.Client{Socket: config.Socket}
		}
		time.Sleep(time.Millisecond)
	}
}

// TestSources: a result of the engine is that of this process in every byte of JSON, scores that
// are not known and zeros included, and progress arrives.
func TestSources(t *testing.T) {
	ask, m := asks()
	want, err := ask.Explain(t.Context(), m)
	must(t, err)
	unknown := func(v sources.Scores) int {
		n := 0
		for _, x := range v.Values {
			if math.IsNaN(float64(x)) {
				n++
			}
		}
		return n
	}
	if unknown(want.Methods[1]) == 0 || want.Methods[0].Ranked()[0] != 4 {
		t.Fatalf("scores %v; want some that are not known, and s4. first", want.Methods)
	}
	client := asked(t, m)
	var stages []string
	ask.Options.OnProgress = func(p trace.Progress) {
		if len(stages) == 0 || stages[len(stages)-1] != p.Stage {
			stages = append(stages, p.Stage)
		}
	}
	got, err := client.Sources(t.Context(), engine.Model{}, ask)
	must(t, err)
	a, err1 := json.Marshal(want)
	b, err2 := json.Marshal(got)
	if err1 != nil || err2 != nil || string(a) != string(b) {
		t.Errorf("as JSON, %v, %v:\n%s\n%s", err1, err2, a, b)
	}
	if len(stages) == 0 || !slices.Contains(stages, "asking without random sources") {
		t.Errorf("stages %q", stages)
	}
}

// TestSourcesRefused: a question that cannot be asked is an error of the caller, here without an
// engine and there with one.
func TestSourcesRefused(t *testing.T) {
	ask, m := asks()
	client := asked(t, m)
	nan := math.NaN()
	for want, change := range map[string]func(*sources.Ask){
		"the question is empty":           func(a *sources.Ask) { a.Question = "" },
		"document 1 of 1 is no text":      func(a *sources.Ask) { a.Documents = []string{"a. \xff."} },
		"penalty NaN; it must be":         func(a *sources.Ask) { a.Options.Penalty = &nan },
		"of 2097163 bytes; at most 10485": func(a *sources.Ask) { a.Documents = []string{strings.Repeat("a", 1<<21-20) + ". b."} },
		`does not contain "no"`:           func(a *sources.Ask) { a.Target = "no" },
		"knows no form of conversation":   func(a *sources.Ask) { a.Chat = true },
	} {
		a := ask
		change(&a)
		_, err := client.Sources(t.Context(), engine.Model{}, a)
		if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestSourcesCancelled: a client that is gone ends the work of the engine.
func TestSourcesCancelled(t *testing.T) {
	ask, m := asks()
	ctx, cancel := context.WithCancel(t.Context())
	answer := m.LogProbability
	m.LogProbability = func(prompt []string, i int) float64 {
		cancel()
		time.Sleep(time.Millisecond)
		return answer(prompt, i)
	}
	client := asked(t, m)
	if _, err := client.Sources(ctx, engine.Model{}, ask); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		s, err := client.Info(t.Context())
		if err == nil && s.Running == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the request still runs: %+v, %v", s, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
