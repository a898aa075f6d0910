// Command bench is our side of internal/bench/peers/bench.py: a process that keeps one model on one
// backend and measures what it is asked.
//
// It reads one JSON object a line from standard input and answers each with one line. A request
// names a task:
//
//	forward  one pass over ids, after which all attention matrices and logits are in this
//	         process's memory
//	decode   greedy generation of new tokens after ids, with a cache
//	rows     decode with the Value Zeroing row of every predicting position: all layers, per
//	         target and source
//
// It ends with the input.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models"
	_ "github.com/headwater-ml/headwater/models/xla"
)

// request is one measurement to make.
type request struct {
	Task string `json:"task"`
	IDs  []int  `json:"ids"`
	New  int    `json:"new"` // tokens to generate; decode and rows
}

// reply is what it took, in milliseconds.
type reply struct {
	// MS is the whole task.
	MS float64 `json:"ms"`
	// TokenMS is the median of the tokens after the first, which waits for the prompt; 0 for
	// forward.
	TokenMS float64 `json:"token_ms"`
	// IDs are the generated tokens.
	IDs []int `json:"ids"`
	// Error says what went wrong; the rest is then zero.
	Error string `json:"error,omitempty"`
}

func main() {
	ref := flag.String("model", "", "directory of the checkpoint")
	backend := flag.String("backend", "",
		"go, xla, cuda, or xla:PATH or cuda:PATH of a PJRT plugin")
	flag.Parse()
	m, err := models.Open(*ref, models.Options{Backend: *backend})
	if err == nil {
		err = serve(context.Background(), m, os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// serve answers requests until the input ends.
func serve(ctx context.Context, m *models.Model, in io.Reader, out io.Writer) error {
	requests, replies := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var r request
		if err := requests.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("request: %w", err)
		}
		answer, err := measure(ctx, m, r)
		if err != nil {
			answer = reply{Error: err.Error()}
		}
		if err := replies.Encode(answer); err != nil {
			return err
		}
	}
}

func measure(ctx context.Context, m *models.Model, r request) (reply, error) {
	switch r.Task {
	case "forward":
		return forward(ctx, m, r)
	case "decode":
		return generate(ctx, m, r, nil)
	case "rows":
		return generate(ctx, m, r, []trace.MixingAsk{{Name: "value-zeroing"}})
	}
	return reply{}, fmt.Errorf("task %q is unknown; known are decode, forward, rows", r.Task)
}

func forward(ctx context.Context, m *models.Model, r request) (reply, error) {
	begin := time.Now()
	if _, err := m.Trace(ctx, r.IDs, []trace.Tap{trace.Attention, trace.Logits}); err != nil {
		return reply{}, err
	}
	return reply{MS: milliseconds(time.Since(begin))}, nil
}

func generate(
	ctx context.Context, m *models.Model, r request, mixings []trace.MixingAsk,
) (reply, error) {
	var out reply
	var tokens []time.Duration
	begin := time.Now()
	last := begin
	for step, err := range m.Steps(ctx, r.IDs, trace.Ask{MaxTokens: r.New, Mixings: mixings}) {
		if err != nil {
			return reply{}, err
		}
		now := time.Now()
		if len(out.IDs) > 0 {
			tokens = append(tokens, now.Sub(last))
		}
		last = now
		out.IDs = append(out.IDs, step.Next.Token.ID)
	}
	out.MS = milliseconds(last.Sub(begin))
	if len(tokens) > 0 {
		slices.Sort(tokens)
		out.TokenMS = milliseconds(tokens[len(tokens)/2])
	}
	return out, nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
