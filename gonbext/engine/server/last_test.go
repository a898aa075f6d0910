package server_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/engine"
	"github.com/headwater-ml/headwater/gonbext/engine/server"
)

// TestLast gets explanations again: the latest one that has a token, as the client got it.
func TestLast(t *testing.T) {
	client, _ := serve(t, server.Config{Open: one(&reader{})})
	_, err := client.Last(t.Context())
	if !errors.Is(err, trace.ErrUsage) ||
		!strings.Contains(err.Error(), "there is no explanation yet") {
		t.Errorf("before the first one: %v", err)
	}
	t.Chdir(t.TempDir())
	if err := os.Mkdir("model", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"a b", "a b c"} {
		want, err := client.Explain(t.Context(), engine.Model{Name: "./model"}, text,
			attribution.Options{Methods: []string{"raw", "flow"}, Positions: []int{1, 0}})
		if err != nil {
			t.Fatal(err)
		}
		if want.Model.Name != "./model" {
			t.Fatalf("the model is called %s", filepath.ToSlash(want.Model.Name))
		}
		// What fails before the first token does not count.
		if _, err := client.Explain(t.Context(), engine.Model{}, text,
			attribution.Options{Positions: []int{99}}); err == nil {
			t.Fatal("position 99 of three tokens is explained")
		}
		for range 2 {
			got, err := client.Last(t.Context())
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v, and the explanation differs (-first +again):\n%s", err, diff)
			}
		}
	}
}

// TestLastOfCancelled gets what there was when a request was cancelled.
func TestLastOfCancelled(t *testing.T) {
	m := &wordModel{gate: make(chan struct{}), ended: make(chan struct{})}
	client, _ := serve(t, server.Config{Open: one(m)})
	cancelled := errors.New("enough")
	func() {
		defer func() { _ = recover() }()
		_, _ = client.Explain(t.Context(), engine.Model{}, "a b", attribution.Options{
			MaxTokens: 5, Methods: []string{"rollout"},
			OnStep: func(*attribution.Explanation) { panic(cancelled) }, // the client is gone
		})
	}()
	<-m.ended
	eventually(t, func() bool {
		e, err := client.Last(t.Context())
		return err == nil && len(e.Steps) == 1
	})
}
