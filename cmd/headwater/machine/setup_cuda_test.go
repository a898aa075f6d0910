package machine

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestServeSettings checks that an engine on a machine with a GPU gets the libraries of CUDA, which
// a cell may choose later, and nothing else that would change what the CPU's plugin does.
func TestServeSettings(t *testing.T) {
	packages := t.TempDir()
	libraries := filepath.Join(packages, "nvidia", "cublas", "lib")
	plugin := filepath.Join(packages, "jax_plugins", "xla_cuda13", "xla_cuda_plugin.so")
	data := filepath.Join(packages, "nvidia", "cuda_nvcc")
	for _, dir := range []string{libraries, filepath.Dir(plugin), data} {
		must(t, os.MkdirAll(dir, 0o700))
	}
	must(t, os.WriteFile(plugin, nil, 0o600))
	t.Setenv("LD_LIBRARY_PATH", "/lib")
	t.Setenv("XLA_FLAGS", "")
	serve := []string{"headwater", "serve", "--socket", "s"}
	for _, c := range []struct {
		name, cuda string
		args       []string
		gpu        bool
		want       []string
	}{
		{"an engine", packages, serve, true, []string{"LD_LIBRARY_PATH=" + libraries + ":/lib"}},
		{"no GPU", packages, serve, false, nil},
		{"no plugin", t.TempDir(), serve, true, nil},
		{"another command", packages, []string{"headwater", "explain", "serve"}, true, nil},
		{"no command", packages, []string{"headwater"}, true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("HEADWATER_CUDA", c.cuda)
			if got := serveSettings(c.args, c.gpu); !slices.Equal(got, c.want) {
				t.Errorf("settings %q, want %q", got, c.want)
			}
		})
	}
}
