package backends

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/internal/testhelp"
)

var must = testhelp.Must // ends a test at an error

// fakePlugins finds plugins that do not exist and accepts every path except bad.
func fakePlugins() *Plugins {
	check := func(path string) error {
		if filepath.Base(path) == "bad.so" {
			return errors.New("plugin: bad")
		}
		return nil
	}
	return &Plugins{
		FindCPU: func() (string, error) { return "/p/cpu.so", nil }, CheckCPU: check,
		FindCUDA: func() (string, error) { return "/p/cuda.so", nil }, CheckCUDA: check,
		LoadCUDA: func(_ string, load func() error) error { return load() },
	}
}

func TestBackendConfig(t *testing.T) {
	found, none, broken := fakePlugins(), fakePlugins(), fakePlugins()
	missing := func() (string, error) { return "", errors.New("plugin: none") }
	none.FindCPU, none.FindCUDA = missing, missing
	broken.FindCPU = func() (string, error) { return "/p/bad.so", nil }
	dir, err := filepath.Abs(".")
	must(t, err)
	for _, c := range []struct {
		name    string
		backend string
		plugins *Plugins
		want    string // the configuration, or a part of the error
	}{
		{"best", "", found, "xla:/p/cpu.so"},
		{"best without a plugin", "", none, "go"},
		{"best without XLA", "", nil, "go"},
		{"best with a broken plugin", "", broken, "models: backend xla: plugin: bad"},
		{"go", "go", found, "go"},
		{"go has no options", "go:x", found, `backend "go:x" is unknown; known are go, xla, cuda, and xla:PATH`},
		{"xla", "xla", found, "xla:/p/cpu.so"},
		{"xla at a path", "xla:/q/x.so", found, "xla:/q/x.so"},
		{"xla at a relative path", "xla:x.so", found, "xla:" + dir + "/x.so"},
		{"xla at a bad path", "xla:/q/bad.so", found, "backend xla: plugin: bad"},
		{"xla at no path", "xla:", found, `backend "xla:" is unknown`},
		{"xla without a plugin", "xla", none, "backend xla: plugin: none"},
		{"cuda", "cuda", found, "xla:/p/cuda.so,tf32=false,preallocate=false"},
		{"cuda at a path", "cuda:/q/x.so", found, "xla:/q/x.so,tf32=false,preallocate=false"},
		{"cuda at a bad path", "cuda:/q/bad.so", found, "backend cuda: plugin: bad"},
		{"cuda without a plugin", "cuda", none, "backend cuda: plugin: none"},
		{"cuda without XLA", "cuda", nil, "backend cuda is not part of this program: build it with cgo"},
		{"unknown", "tpu", found, `backend "tpu" is unknown; known are go, xla, cuda`},
		{"misspelt", "cuad:/q/x.so", found, `backend "cuad:/q/x.so" is unknown; did you mean cuda? known are go, xla, cuda`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := backendConfig(c.backend, c.plugins)
			if err != nil {
				got = err.Error()
			}
			if err == nil && got != c.want || !strings.Contains(got, c.want) {
				t.Errorf("backendConfig(%q) = %q; want %q", c.backend, got, c.want)
			}
			if err == nil && isCUDA(got) != strings.HasPrefix(c.backend, "cuda") {
				t.Errorf("%q is CUDA: %v", got, isCUDA(got))
			}
		})
	}
}

func TestMeasureSpeed(t *testing.T) {
	got, err := MeasureSpeed(t.Context(), "go", 64)
	if err != nil || got.Size != 64 || got.GFLOPS <= 0.001 || got.GFLOPS > 1e6 || got.Compile <= 0 {
		t.Errorf("MeasureSpeed = %+v, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := MeasureSpeed(ctx, "go", 64); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want canceled", err)
	}
	if _, err := MeasureSpeed(t.Context(), "abacus", 64); err == nil ||
		!strings.Contains(err.Error(), `"abacus" is unknown`) {
		t.Errorf("error %v", err)
	}
}

func TestBackendName(t *testing.T) {
	b, err := Open("go")
	if err != nil || Name(b) != "go" {
		t.Errorf("BackendName = %s, %v; want go", Name(b), err)
	}
	if path, err := PluginPath("go"); err != nil || path != "" {
		t.Errorf("PluginPath(go) = %q, %v; want none", path, err)
	}
}

// TestProductsAtOnce: many products of matrices that do not depend on each other come to an end.
// With the library's own default they wait for each other's workers.
func TestProductsAtOnce(t *testing.T) {
	b, err := Open("go")
	must(t, err)
	done := make(chan error, 1)
	go func() {
		x := tensors.FromShape(shapes.Make(dtypes.Float32, 1, 3, 64, 64))
		for range 200 {
			_, err := graph.CallOnce(b, func(x *graph.Node) *graph.Node {
				var all []*graph.Node
				few := graph.SliceAxis(x, 2, graph.AxisRange(0, 3))
				for i := range 30 {
					y := graph.AddScalar(few, float64(i))
					all = append(all, graph.Einsum("bgre,bgse->bgrs", y, x))
				}
				return graph.Stack(all, 0)
			}, x)
			if err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("no end after a minute")
	}
}
