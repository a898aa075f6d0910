package backends

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/internal/certificate"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
	"github.com/headwater-ml/headwater/internal/golden"
	"github.com/headwater-ml/headwater/models"
)

// whole are the goldens that make every check on XLA: one of each kind of block and head. Each
// makes XLA compile a dozen graphs, about 25 seconds of one core.
var whole = []string{
	"bert", "bloom_h6", "distilbert_cls", "falcon7", "gemma2", "gpt2", "gpt_oss", "mixtral", "opt_350", "qwen3",
}

// documented is a golden whose whole certificate is made by TestReadmeCertificate of internal/e2e.
const documented = "llama3_rope"

// TestCertificates compares XLA with every recording and with pure Go.
func TestCertificates(t *testing.T) {
	files, err := filepath.Glob(goldens + "*/golden.safetensors")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d goldens, %v", len(files), err)
	}
	for _, file := range files {
		dir := filepath.Dir(file)
		name := filepath.Base(dir)
		if name == documented {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel() // XLA compiles some parts of a graph on one core
			m := fixture.Open(t, dir, "xla")
			g, err := golden.Open(file)
			must(t, err)
			defer g.Close()
			openGo := func() (*models.Model, error) {
				return models.Open(dir, models.Options{Backend: "go"})
			}
			c, err := certificate.Run(context.Background(), m, certificate.Options{
				Golden: g, RecordingOnly: !slices.Contains(whole, name), Other: openGo,
			})
			must(t, err)
			for _, k := range c.Failed() {
				t.Error(k)
			}
		})
	}
}

// TestCertificateInHalf: weights in bfloat16 make every product round to 8 bits, so the backends
// agree less closely, and that is no reason to distrust a model.
func TestCertificateInHalf(t *testing.T) {
	for _, name := range []string{"tiny", "tiny-alibi"} {
		fixture.Open(t, name, "xla") // skips where there is none
		open := func(backend string) (*models.Model, error) {
			return models.Open(name, models.Options{Backend: backend, DType: "bfloat16"})
		}
		m, err := open("go")
		must(t, err)
		c, err := certificate.Run(t.Context(), m, certificate.Options{
			Other: func() (*models.Model, error) { return open("xla") },
		})
		must(t, err)
		for _, k := range c.Failed() {
			t.Errorf("%s: %s", name, k)
		}
	}
}

// TestVariants compares pure Go with the recordings of checkpoints of other sizes, number types,
// shards and prefixes, which internal/bench/peers/make_variants.py makes. Without them it skips.
func TestVariants(t *testing.T) {
	files, err := filepath.Glob("../../../.cache/variants/*/*/golden.safetensors")
	if err != nil || len(files) == 0 {
		t.Skip("there are none: internal/bench/peers/python " +
			"internal/bench/peers/make_variants.py .cache/variants/1 1")
	}
	for _, file := range files {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(filepath.Dir(dir))+"/"+filepath.Base(dir), func(t *testing.T) {
			g, err := golden.Open(file)
			must(t, err)
			defer g.Close()
			m := fixture.Open(t, dir, "go")
			c, err := certificate.Run(context.Background(), m, certificate.Options{Golden: g})
			must(t, err)
			for _, k := range c.Failed() {
				if k.Name == "greedy tokens" && m.Spec().Window(0) == 1 {
					continue // the reference's cache of a window of one token keeps more than that
				}
				t.Error(k)
			}
		})
	}
}
