package engine

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/testhelp"
)

// The engine answers what the command prints.
func TestServe(t *testing.T) {
	socket := filepath.Join(testhelp.ShortDir(t), "s")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan int, 1)
	var stderr bytes.Buffer
	go func() {
		done <- cli.Run(ctx, headwater, []string{"serve", "--socket", socket, "--backend", "go"}, nil, nil, &stderr)
	}()
	client := engine.Client{Socket: socket}
	for {
		if _, err := client.Info(ctx); err == nil {
			break
		}
		select {
		case status := <-done:
			t.Fatalf("serve ended: %d, %s", status, stderr.String())
		case <-time.After(5 * time.Millisecond):
		}
	}
	got, err := client.Explain(ctx, engine.Model{}, clitest.Prompt,
		attribution.Options{MaxTokens: 2})
	must(t, err)
	// A file of it can be made again: its origin has the type of the weights.
	if !strings.Contains(string(got.Origin), `"dtype":"float32"`) {
		t.Errorf("the origin is %s", got.Origin)
	}
	got.Origin = nil
	if diff := cmp.Diff(headwater.Explained(t, "--prove=off", "--max-tokens", "2", clitest.Prompt),
		clitest.RoundTrip(t, got)); diff != "" {
		t.Errorf("engine (-command +engine):\n%s", diff)
	}
	if err := client.Stop(ctx); err != nil {
		t.Error(err)
	}
	if status := <-done; status != cli.StatusOK {
		t.Errorf("status %d, %s", status, stderr.String())
	}
	if _, err := os.Stat(socket); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
}

func TestServeRefusals(t *testing.T) {
	headwater.CheckRefusals(t, []clitest.Refusal{
		{"no socket", []string{"serve"}, "", 2, "serve needs --socket"},
		{"idle", []string{"serve", "--socket", "OUT", "--idle", "soon"}, "", 2, `--idle "soon": want a time such as 90s or 2h`},
		{"negative", []string{"serve", "--socket", "OUT", "--watch", "-1"}, "", 2, "--watch -1: want the number of a process"},
		{"models", []string{"serve", "--socket", "OUT", "--models", "0"}, "", 2, `--models "0": want a whole number from 1 to 1000`},
		{"memory", []string{"serve", "--socket", "OUT", "--memory", "much"}, "", 2, `--memory "much": want a size such as 8GB`},
		{"no such folder", []string{"serve", "--socket", "OUT/s"}, "", 1, "headwater: listen unix "},
		{"something else is there", []string{"serve", "--socket", "serve.go"}, "", 1, "serve.go exists and is not a socket"},
	})
}

// Limits of engines that notebooks start come from the environment, and wrong ones are refused.
func TestServeEnvironment(t *testing.T) {
	t.Setenv("HEADWATER_ENGINE_MEMORY", "much")
	headwater.CheckRefusals(t, []clitest.Refusal{
		{"memory", []string{"serve", "--socket", "OUT"}, "", 1, `HEADWATER_ENGINE_MEMORY is "much": want a size such as 8GB`},
	})
}
