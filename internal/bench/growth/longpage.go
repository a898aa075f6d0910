package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"gonum.org/v1/plot/plotter"
)

//go:embed long.jsonl
var longLines []byte

// recordedLong reads the measurements of long prompts, a line each.
func recordedLong() ([]measurement, error) {
	var all []measurement
	lines := json.NewDecoder(bytes.NewReader(longLines))
	for {
		var m measurement
		switch err := lines.Decode(&m); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("long.jsonl: %w", err)
		}
		all = append(all, m)
	}
}

// longIntro begins the section of long prompts. A quotation mark stands for an accent.
var longIntro = strings.ReplaceAll(`
## Long prompts

Prompts of 64 to 32,768 tokens with random weights (4 layers, 4 heads, width 64, rotary positions) on %s. Prompts of more than 1,024
tokens are read in tiles. Times are those of all processors together, one process each, on two cores of an AMD EPYC with AVX-512, graphs
compiled before. "plain" generates without an explanation. The row of rollout is what one more explained token takes: it computes all
rows again and stores none. "value-zeroing" explains in the layer that wrote the token. Memory is the most that the process held; stated is
the smallest limit under which it does not refuse the run. Exponents are slopes from 2,048 tokens on; the last doubling of rollout is
steeper (2.3 for a prompt, 2.6 for a row), probably because the keys of a layer no longer stay in the processor's cache.

"alti-logit" and "flow" store the rows of all tokens as long as these fit, here with "MaxMemory" of 2 GB. Up to 2,048 tokens, alti-logit
reads stored rows; from 4,096 on it computes them again for each explained token, with arrays as wide as the model for every pair of tokens.
Its 32,768 tokens were measured while other programs used the processors, which makes them slower. Flow is exact up to 2,048 tokens; from
4,096 on it gives bounds. Under a limit of 12 GB, exact flow of 4,096 tokens took 32 s to the first token and 41 s for one more. No slope is drawn through
two ways.

Written from the lines that
"go run ./internal/bench/growth -long 30m -of small" prints, in "internal/bench/growth/long.jsonl"; "-of smollm2" has the shape of SmolLM2-135M.

The measurements before, with one pass over the whole prompt and stored rows, on the same model: plain 8,192 tokens 2.4 GB, rollout
4,096 tokens 2.4 GB, rollout 8,192 tokens more than 5 GB and no answer within 200 s.
`, `"`, "`")

// longFigures are the tables of long prompts.
var longFigures = []figure{
	{
		"long-first", "from the prompt to the first explained token", "s",
		func(m *measurement) *float64 { return &m.First },
	},
	{
		"long-next", "one more explained token", "s",
		func(m *measurement) *float64 { return &m.Next },
	},
	{
		"long-memory", "memory of the process", "MB",
		func(m *measurement) *float64 { return &m.Memory },
	},
	{
		"long-stated", "memory stated before", "MB",
		func(m *measurement) *float64 { return &m.Stated },
	},
}

// longSection returns the section of long prompts.
func longSection(all []measurement) string {
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, longIntro, all[0].Backend)
	for _, f := range longFigures {
		fmt.Fprintf(&b, "\n### Long prompts: %s\n\n| %s |", f.title, f.unit)
		for _, n := range longLengths {
			fmt.Fprintf(&b, " %d |", n)
		}
		b.WriteString(" exponent |\n|---|" + strings.Repeat("---|", len(longLengths)+1) + "\n")
		for _, method := range longMethods {
			b.WriteString(f.longRow(all, method))
		}
	}
	return b.String()
}

// longRow returns the row of a method, with the slope from 2,048 tokens on.
func (f figure) longRow(all []measurement, method string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| `%s` |", method)
	var steep plotter.XYs
	for _, n := range longLengths {
		cell := missing
		for _, m := range all {
			if m.Method == method && m.Tokens == n && *f.of(&m) > 0 {
				cell = number(*f.of(&m))
			}
		}
		if y, err := strconv.ParseFloat(cell, 64); err == nil && n >= 2048 {
			steep = append(steep, plotter.XY{X: float64(n), Y: y})
		}
		b.WriteString(" " + cell + " |")
	}
	// No slope is drawn through rows that are stored and rows that are computed again.
	if _, two := rowsFit[method]; two || len(steep) < 2 {
		b.WriteString(" " + missing + " |\n")
		return b.String()
	}
	fmt.Fprintf(&b, " %.2f |\n", exponent(steep))
	return b.String()
}
