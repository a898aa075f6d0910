package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/bench/meter"
	"github.com/headwater-ml/headwater/models"
)

// plain is generation without an explanation.
const plain = "plain"

// storedTokens is the length up to which rollout stores the rows of a prompt; after longer ones
// few tokens are explained, for which it multiplies vectors.
const storedTokens = 1024

var (
	longLengths = []int{64, 256, 1024, 2048, 4096, 8192, 16384, 32768}
	longMethods = []string{plain, "direct", "rollout", "value-zeroing", "alti-logit", "flow"}

	// rowsFit is the most memory that a process may hold with a method that stores the rows of all
	// tokens as long as they fit: a machine with more stores those of longer prompts.
	rowsFit = map[string]int64{"alti-logit": 2e9, "flow": 2e9}
)

// opened opens the embedded model, or writes and opens one with random weights, and returns a
// prompt of so many tokens. memory is the most that the process may hold, 0 for what there is.
func opened(of string, tokens int, backend string, memory int64) (*models.Model, string, error) {
	opts := models.Options{Backend: backend, MaxMemory: memory}
	if of == "tiny" {
		m, err := models.Open(of, opts)
		if err != nil {
			return nil, "", err
		}
		prompt, err := promptOf(m, tokens)
		return m, prompt, err
	}
	s, err := shapeNamed(of)
	if err != nil {
		return nil, "", err
	}
	dir, err := os.MkdirTemp("", "growth")
	if err != nil {
		return nil, "", err
	}
	defer os.RemoveAll(dir) // a folder of the system for such files
	if err := s.write(dir); err != nil {
		return nil, "", err
	}
	m, err := models.Open(dir, opts)
	if err != nil {
		return nil, "", err
	}
	return m, s.prompt(tokens), nil
}

// prompt is a text of so many words, which do not repeat soon.
func (s shape) prompt(tokens int) string {
	words := make([]string, tokens)
	for i := range words {
		words[i] = fmt.Sprintf("w%d", (i*i*7+i*13)%s.vocab)
	}
	return strings.Join(words, " ")
}

// longTokens is how many tokens are explained after a long prompt.
const longTokens = 2

// measureLong explains tokens after a prompt twice and returns the time of the processors, which
// other programs on the machine do not change much. The second time counts, when all graphs are
// compiled.
func measureLong(method string, tokens int, backend, of string) (measurement, error) {
	m, prompt, err := opened(of, tokens, backend, rowsFit[method])
	if err != nil {
		return measurement{}, err
	}
	encoded, err := m.Encode(prompt, trace.SpecialsAuto)
	if err != nil {
		return measurement{}, err
	}
	r := measurement{Method: method, Tokens: len(encoded), Backend: m.Info().Backend}
	r.Stated = stated(m, method, len(encoded))
	for range 2 {
		watch := meter.Processor()
		first, n := 0.0, 0
		step := func() {
			if n++; n == 1 {
				first = watch().Seconds()
			}
		}
		if method == plain {
			err = generate(m, encoded, step)
		} else {
			_, err = attribution.Explain(context.Background(), m, prompt, attribution.Options{
				Methods: []string{method}, MaxTokens: longTokens,
				OnStep: func(*attribution.Explanation) { step() },
			})
		}
		if err != nil {
			return r, err
		}
		r.First, r.Next = first, (watch().Seconds()-first)/float64(max(1, n-1))
	}
	return r, nil
}

// generate generates tokens without an explanation.
func generate(m *models.Model, prompt []trace.Token, step func()) error {
	ids := trace.IDs(prompt)
	ask := trace.Ask{MaxTokens: longTokens}
	for _, err := range m.Steps(context.Background(), ids, ask) {
		if err != nil {
			return err
		}
		step()
	}
	return nil
}

// stated is the smallest limit, in MB, under which the process does not refuse the run: program,
// weights, and what the model needs to read the prompt, with a third more for garbage. Rollout of a
// long text multiplies vectors.
func stated(m *models.Model, method string, n int) float64 {
	if limit, ok := rowsFit[method]; ok {
		return float64(limit) / 1e6
	}
	ask := trace.Ask{MaxTokens: longTokens}
	switch method {
	case "direct":
		ask.Terms = &trace.TermsAsk{}
	case "rollout":
		ask.Mixings = []trace.MixingAsk{{Name: "attention", AllRows: n <= storedTokens}}
		ask.Products = n > storedTokens
	case "value-zeroing":
		ask.Terms = &trace.TermsAsk{Rows: []trace.MixingAsk{{Name: "value-zeroing"}}}
	}
	return float64(m.Memory().Program+m.Memory().Weights+m.PromptBytes(n, ask)/3*4) / 1e6
}

// long measures all methods at all lengths and prints the page's table rows as JSON lines.
func long(backend, of string, limit time.Duration) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, method := range longMethods {
		for _, n := range longLengths {
			ctx, cancel := context.WithTimeout(context.Background(), limit)
			m, err := process(ctx, self, method, n, backend, of)
			cancel()
			if errors.Is(err, context.DeadlineExceeded) {
				log.Printf("%s, %d tokens: more than %s", method, n, limit)
				break
			}
			if err != nil {
				return err
			}
			if err := json.NewEncoder(os.Stdout).Encode(m); err != nil {
				return err
			}
		}
	}
	return nil
}

// process runs one measurement in a process of its own, with the model of.
func process(
	ctx context.Context, self, method string, n int, backend, of string,
) (m measurement, err error) {
	cmd := exec.CommandContext(ctx, self, "-one", method, "-tokens", fmt.Sprint(n),
		"-backend", backend, "-of", of)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if ctx.Err() != nil {
		return m, ctx.Err()
	}
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		return m, fmt.Errorf("%s, %d tokens: %w", method, n, err)
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		m.Memory = float64(usage.Maxrss<<10) / 1e6
	}
	return m, nil
}
