package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/models"
)

// peerRequest is one measurement that a benchmark beside other programs asks for.
type peerRequest struct {
	// Task is forward, one pass, after which all attention matrices and logits are in the memory of
	// the process; decode, greedy generation on a cache; rows, the same with the rows of Value
	// Zeroing of all layers; or explain, what headwater explain does.
	Task string `json:"task"`
	IDs  []int  `json:"ids"` // the prompt of all tasks but explain
	// Prompt and Methods are what explain explains, and by which methods.
	Prompt  string   `json:"prompt"`
	Methods []string `json:"methods"`
	New     int      `json:"new"` // tokens to generate, by all tasks but forward
}

// peerReply is what a measurement took, in milliseconds.
type peerReply struct {
	// MS is the whole task, and FirstMS the time to the first token, which waits for the prompt.
	MS      float64 `json:"ms"`
	FirstMS float64 `json:"first_ms,omitempty"`
	// TokenMS is the median of the tokens after the first; 0 if there are none.
	TokenMS float64 `json:"token_ms"`
	// IDs are the generated tokens.
	IDs []int `json:"ids"`
	// Error is empty unless the measurement failed; the rest is then zero.
	Error string `json:"error,omitempty"`
}

// stopwatch notes when tokens are there.
type stopwatch struct {
	begin time.Time
	times []time.Duration // since begin
	ids   []int
}

func (w *stopwatch) token(id int) {
	w.times, w.ids = append(w.times, time.Since(w.begin)), append(w.ids, id)
}

// reply returns what was measured.
func (w *stopwatch) reply() peerReply {
	r := peerReply{MS: milliseconds(time.Since(w.begin)), IDs: w.ids}
	var steps []time.Duration
	for i, at := range w.times {
		if i == 0 {
			r.FirstMS = milliseconds(at)
			continue
		}
		steps = append(steps, at-w.times[i-1])
	}
	if steps != nil {
		slices.Sort(steps)
		r.TokenMS = milliseconds(steps[len(steps)/2])
	}
	return r
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// benchPeerCommand is our side of benchmarks beside other programs, for internal/bench/peers and
// internal/bench/gpu: it keeps one model open, reads one request as a JSON object from each line of
// standard input, and answers each with one line. It ends with the input.
func benchPeerCommand(k *cli.Kit) *cobra.Command {
	var f cli.ModelFlags
	cmd := &cobra.Command{
		Use: "peer", Short: "measure what another program asks for", Hidden: true,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			m, err := k.Open(ctx, f)
			if err != nil {
				return err
			}
			return servePeer(ctx, m, k.Stdin, k.Stdout)
		},
	}
	f.Add(cmd)
	return cmd
}

// servePeer answers requests until the input ends.
func servePeer(ctx context.Context, m *models.Model, in io.Reader, out io.Writer) error {
	requests, replies := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var r peerRequest
		if err := requests.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("request: %w", err)
		}
		if err := replies.Encode(measurePeer(ctx, m, r)); err != nil {
			return err
		}
	}
}

// measurePeer answers a request.
func measurePeer(ctx context.Context, m *models.Model, r peerRequest) peerReply {
	w := &stopwatch{begin: time.Now()}
	if err := w.measure(ctx, m, r); err != nil {
		return peerReply{Error: cli.ErrorText(err)}
	}
	return w.reply()
}

// measure does the task of a request.
func (w *stopwatch) measure(ctx context.Context, m *models.Model, r peerRequest) error {
	ask := trace.Ask{MaxTokens: r.New}
	switch r.Task {
	case "forward":
		_, err := m.Trace(ctx, r.IDs, []trace.Tap{trace.Attention, trace.Logits})
		return err
	case "explain":
		_, err := attribution.Explain(ctx, m, r.Prompt, attribution.Options{
			Methods: r.Methods, MaxTokens: r.New,
			OnStep: func(e *attribution.Explanation) { w.token(e.Steps[len(e.Steps)-1].ID) },
		})
		return err
	case "rows":
		ask.Mixings = []trace.MixingAsk{{Name: "value-zeroing"}}
	case "decode":
	default:
		return fmt.Errorf("task %.60q is unknown", r.Task)
	}
	for step, err := range m.Steps(ctx, r.IDs, ask) {
		if err != nil {
			return err
		}
		w.token(step.Next.Token.ID)
	}
	return nil
}
