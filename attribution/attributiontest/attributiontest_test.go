package attributiontest_test

import (
	"context"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/aggregation"
	"github.com/headwater-ml/headwater/attribution/attributiontest"
)

// brokenEnv names, in a child process, the broken aggregation that it checks.
const brokenEnv = "ATTRIBUTIONTEST_BROKEN"

// broken is rollout with one fault, which changes what a state gets or gives.
type broken struct {
	fault string
	info  func(aggregation.Info) aggregation.Info
	calls int
	edit  func(b *broken, cfg aggregation.Config, out []float64, rows aggregation.Rows) []float64
}

func (b *broken) Info() aggregation.Info {
	a, _ := aggregation.Lookup("rollout")
	if b.info != nil {
		return b.info(a.Info())
	}
	return a.Info()
}

func (b *broken) New(cfg aggregation.Config) aggregation.State {
	a, _ := aggregation.Lookup("rollout")
	return &brokenState{b, cfg, a.New(cfg)}
}

type brokenState struct {
	b   *broken
	cfg aggregation.Config
	s   aggregation.State
}

func (s *brokenState) Extend(
	ctx context.Context, dst []float64, rows aggregation.Rows,
) ([]float64, error) {
	if s.b.fault == "cancel" {
		ctx = context.WithoutCancel(ctx)
	}
	out, err := s.s.Extend(ctx, nil, rows)
	if s.b.edit != nil && len(out) > 0 {
		out = s.b.edit(s.b, s.cfg, out, rows)
	}
	return append(dst, out...), err
}

// faults are aggregations that break the contract, by the part of it that must notice.
var faults = []broken{
	{fault: "info", info: func(i aggregation.Info) aggregation.Info { i.Cost = ""; return i }},
	{fault: "cancel"},
	{fault: "arguments_untouched", edit: func(b *broken, _ aggregation.Config, out []float64,
		rows aggregation.Rows,
	) []float64 {
		rows.Data[0] = 7
		return out
	}},
	{
		fault: "arguments_untouched,_equal_runs",
		edit: func(b *broken, _ aggregation.Config, out []float64, _ aggregation.Rows) []float64 {
			b.calls++
			out[0] += float64(b.calls) * 1e-13
			return out
		},
	},
	{fault: "causal_zeros", edit: func(_ *broken, _ aggregation.Config, out []float64,
		rows aggregation.Rows,
	) []float64 {
		out[rows.T()-1] += 1e-15
		return out
	}},
	{fault: "causal_zeros_and_sums", edit: func(_ *broken, _ aggregation.Config, out []float64,
		_ aggregation.Rows,
	) []float64 {
		out[0] *= 2
		return out
	}},
	{fault: "rows_one_by_one", edit: func(_ *broken, _ aggregation.Config, out []float64,
		rows aggregation.Rows,
	) []float64 {
		out[0] += float64(rows.First) * 1e-3
		return out
	}},
	{fault: "skipped_rows", edit: func(_ *broken, _ aggregation.Config, out []float64,
		rows aggregation.Rows,
	) []float64 {
		out[0] += float64(rows.Skip) * 1e-3
		return out
	}},
	{fault: "top_rows", edit: func(_ *broken, _ aggregation.Config, out []float64,
		rows aggregation.Rows,
	) []float64 {
		if rows.Top != nil {
			out[len(out)-1] = 0
		}
		return out
	}},
	{fault: "permuted_tokens", edit: func(_ *broken, cfg aggregation.Config, out []float64,
		rows aggregation.Rows,
	) []float64 {
		if cfg.Prefix == rows.T() {
			out[1%len(out)] *= 1.01
		}
		return out
	}},
	{fault: "one_token", edit: func(_ *broken, _ aggregation.Config, out []float64,
		rows aggregation.Rows,
	) []float64 {
		if rows.N == 1 && rows.First == 0 {
			out[0] = 0.5
		}
		return out
	}},
	{fault: "NaN", edit: func(_ *broken, _ aggregation.Config, out []float64,
		_ aggregation.Rows,
	) []float64 {
		if slices.ContainsFunc(out, math.IsNaN) {
			out[0] = 0.25
		}
		return out
	}},
}

// TestContract runs the contract on each fault in a child process, which must fail in the part
// named.
func TestContract(t *testing.T) {
	if fault := os.Getenv(brokenEnv); fault != "" {
		for i := range faults {
			if faults[i].fault == fault {
				attributiontest.Aggregation(t, &faults[i])
			}
		}
		return
	}
	for i := range faults {
		fault := faults[i].fault
		t.Run(fault, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestContract$")
			cmd.Env = append(os.Environ(), brokenEnv+"="+fault)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestContract/"+fault) {
				t.Errorf("the contract did not notice: %v\n%s", err, out)
			}
		})
	}
}
