package models_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models"
)

// TestCompileTimes keeps times in a file, for a later program.
func TestCompileTimes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "times.json")
	times := models.OpenCompileTimes(path)
	if _, known := times.Took("a"); known {
		t.Error("a time is known of a file that does not exist")
	}
	times.Add("a", 1500*time.Millisecond)
	times.Add("b", time.Second)
	other := models.OpenCompileTimes(path) // another program
	other.Add("a", 2*time.Second)
	times.Add("c", time.Second) // must not lose what the other program wrote
	for key, want := range map[string]time.Duration{"a": 2 * time.Second, "b": time.Second} {
		if took, known := models.OpenCompileTimes(path).Took(key); !known || took != want {
			t.Errorf("%s took %v, %v; want %v", key, took, known, want)
		}
	}
}

// TestCompileTimesAreBounded keeps the latest times only.
func TestCompileTimesAreBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "times.json")
	times := models.OpenCompileTimes(path)
	for i := range 1001 {
		times.Add(fmt.Sprint(i), time.Second)
	}
	if _, known := times.Took("0"); known {
		t.Error("the oldest of 1001 times is kept")
	}
	if _, known := times.Took("1"); !known {
		t.Error("only the oldest of 1001 times may leave")
	}
}

// TestCompileTimesOfBadFiles reads files that have no times, and a place that cannot be written.
// Both are no error: the times only serve messages.
func TestCompileTimesOfBadFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"empty": "", "text": "soon", "object": "{}"} {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, []byte(text), 0o600))
		times := models.OpenCompileTimes(path)
		times.Add("a", time.Second)
		if took, _ := models.OpenCompileTimes(path).Took("a"); took != time.Second {
			t.Errorf("%s: a took %v after it was added, want 1s", name, took)
		}
	}
	models.OpenCompileTimes(filepath.Join(dir, "empty", "below a file")).Add("a", time.Second)
	var none *models.CompileTimes
	none.Add("a", time.Second)
	if _, known := none.Took("a"); known {
		t.Error("nil knows a time")
	}
}

// TestLoading reports how the opening of a model goes on.
func TestLoading(t *testing.T) {
	var stages []string
	_, err := models.Open("tiny", models.Options{Loading: func(p trace.Progress) {
		if len(stages) == 0 || stages[len(stages)-1] != p.Stage {
			stages = append(stages, p.Stage)
		}
	}})
	must(t, err)
	if got, want := fmt.Sprint(stages), "[checking the weights loading the weights]"; got != want {
		t.Errorf("stages %s, want %s", got, want)
	}
}

// TestLoadingIsInterrupted ends the opening of a model at either stage.
func TestLoadingIsInterrupted(t *testing.T) {
	for _, stage := range []string{"checking the weights", "loading the weights"} {
		ctx, cancel := context.WithCancel(t.Context())
		m, err := models.OpenContext(ctx, "tiny", models.Options{Loading: func(p trace.Progress) {
			if p.Stage == stage {
				cancel()
			}
		}})
		if m != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted while %s: model %v, error %v", stage, m, err)
		}
		cancel()
	}
}
