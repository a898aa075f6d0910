package backends

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/backends"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

// TestCachedSources: where XLA keeps what sources add beside the cache, its logits and rows of
// Value Zeroing after every token are those of pure Go, which keeps nothing. The decoders are wide
// enough that it pays: with biases, gated with keys that heads share, and with norms after the
// block.
func TestCachedSources(t *testing.T) {
	base := spec.Spec{
		Family: "random", Layers: 2, Heads: 4, Width: 256, HeadWidth: 64, FeedForward: 512,
		Vocab: 96, Context: 64, NormEpsilon: 1e-5, Activation: spec.GELUTanh, TiedHead: true,
		BOS: -1,
	}
	biased, gated := base, base
	biased.ProjectionBias, biased.OutputBias, biased.MLPBias = true, true, true
	gated.RMS, gated.Gated, gated.KeyValueHeads, gated.Activation = true, true, 2, spec.SiLU
	after := biased
	after.Order, after.NoFinalNorm = spec.PostNorm, true
	for name, arch := range map[string]spec.Spec{
		"biases": biased, "gated": gated, "norms after": after,
	} {
		t.Run(name, func(t *testing.T) {
			const n, end = 8, 47 // of 48 slots; the last one is never a token's
			sessions := map[string]*transformer.Session{}
			for _, name := range []string{"xla", "go"} {
				m := randomModel(t, name, arch)
				s, err := m.NewSession([]trace.MixingAsk{
					{Name: "value-zeroing"},
					{Name: "value-zeroing-euclidean-final-norm"},
					{Name: "attention"},
				}, end)
				must(t, err)
				defer s.Close()
				must(t, s.KeepTerms())
				sessions[name] = s
			}
			ids := make([]int, end)
			for i := range ids {
				ids[i] = (5 + 17*i) % arch.Vocab
			}
			pass := func(name string, at int) *transformer.Output {
				var out *transformer.Output
				var err error
				if at == n {
					out, err = sessions[name].Prompt(context.Background(), ids[:n], nil)
				} else {
					out, err = sessions[name].Step(context.Background(), ids[at-1])
				}
				must(t, err)
				return out
			}
			for at := n; at <= end; at++ {
				got, want := pass("xla", at), pass("go", at)
				compare(t, fmt.Sprintf("logits after %d tokens", at), got.Logits, want.Logits,
					scaled(want.Logits))
				for k, rows := range got.Rows {
					compare(t, fmt.Sprintf("rows %d after %d tokens", k, at), rows.Data,
						want.Rows[k].Data, scaled(want.Rows[k].Data))
				}
			}
			if !sessions["xla"].CachesSources() || sessions["go"].CachesSources() {
				t.Error("want sources beside the cache on xla, and not on go")
			}
		})
	}
}

// randomModel is a model with the same random weights on every backend.
func randomModel(t *testing.T, backend string, arch spec.Spec) *transformer.Model {
	t.Helper()
	b, err := backends.Open(backend)
	if err != nil && backend == "xla" {
		t.Skip("no XLA here: ", err)
	}
	must(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	m, err := transformer.New(b, &arch, dtypes.Float32,
		func(p spec.Param, put func(int, []float32)) error {
			data := make([]float32, p.Size())
			for i := range data {
				data[i] = float32(0.1 * random.NormFloat64())
				if strings.HasSuffix(p.Name, ".gain") {
					data[i]++
				}
			}
			put(0, data)
			return nil
		})
	must(t, err)
	return m
}
