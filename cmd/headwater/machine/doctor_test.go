package machine

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/internal/backends"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
)

// diagnose runs headwater doctor --json where no plugin is found unless env names one.
func diagnose(t *testing.T, args ...string) diagnosis {
	t.Helper()
	t.Setenv(clitest.AsProgram, "1")
	var d diagnosis
	out := headwater.Output(t, append([]string{"doctor", "--json", "--size", "64"}, args...)...)
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatalf("doctor --json wrote %s: %v", out, err)
	}
	return d
}

// nowhere gives a test a home and working directory without plugins.
func nowhere(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	for _, name := range []string{"HEADWATER_XLA", "HEADWATER_CUDA", "HEADWATER_MODELS", "VIRTUAL_ENV", "CONDA_PREFIX"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	t.Setenv("PATH", home)
	t.Chdir(home)
	return home
}

func (d diagnosis) backend(t *testing.T, name string) backendFacts {
	t.Helper()
	i := slices.IndexFunc(d.Backends, func(b backendFacts) bool { return b.Name == name })
	if i < 0 {
		t.Fatalf("doctor says nothing of backend %s: %+v", name, d.Backends)
	}
	return d.Backends[i]
}

func TestDoctor(t *testing.T) {
	nowhere(t)
	t.Setenv("HF_TOKEN", "hf_secret")
	d := diagnose(t, "--check")
	pure := d.backend(t, "go")
	if pure.Problem != "" || !pure.Default || pure.Measured == nil {
		t.Fatalf("backend go: %+v", pure)
	}
	if speed := pure.Measured.Speed; speed == nil || speed.GFLOPS <= 0.001 || speed.Size != 64 {
		t.Errorf("speed of go: %+v", speed)
	}
	if check := pure.Measured.Check; check == nil || check.Text != " john" ||
		check.Probability <= .5 || check.Probability > 1 {
		t.Errorf("self-check of go: %+v", check)
	}
	for _, name := range []string{"xla", "cuda"} {
		if b := d.backend(t, name); b.Problem == "" || b.Default || b.Measured != nil {
			t.Errorf("backend %s, which is not there: %+v", name, b)
		}
	}
	if d.Machine.Cores < 1 || d.Machine.Memory <= 0 || d.Build.Go == "" {
		t.Errorf("machine %+v, build %+v", d.Machine, d.Build)
	}
	if len(d.Next) < 2 || !strings.Contains(strings.Join(d.Next, "\n"), "headwater certify") {
		t.Errorf("next: %q", d.Next)
	}
	if len(d.Known) != 1 || d.Known[0].Name != "smollm2" || d.Known[0].Path != "" ||
		!strings.Contains(strings.Join(d.Next, "\n"), "headwater download smollm2") {
		t.Errorf("known models %+v, next %q; want one that is not downloaded", d.Known, d.Next)
	}
	text := headwater.Output(t, "doctor", "--quick")
	for _, want := range []string{"\nbackends\n", "\nmodels\n  smollm2", "\nsettings\n", "\nnext\n", "HF_TOKEN", "GOEXPERIMENT="} {
		if !strings.Contains(text, want) {
			t.Errorf("doctor --quick lacks %q:\n%s", want, text)
		}
	}
	t.Setenv("HF_HUB_DOWNLOAD_TIMEOUT", "soon") // a wrong setting is reported
	if text := headwater.Output(t, "doctor", "--quick"); !strings.Contains(text,
		`of the Hub, HF_HUB_DOWNLOAD_TIMEOUT "soon" is not a number of seconds`) {
		t.Errorf("doctor does not report a wrong setting:\n%s", text)
	}
	quick := headwater.Output(t, "doctor", "--quick", "--json")
	if strings.Contains(text+quick, "hf_secret") {
		t.Error("doctor tells the token")
	}
}

// A file that is not a plugin is reported as such, and nothing loads it.
func TestDoctorBadPlugin(t *testing.T) {
	home := nowhere(t)
	bad := filepath.Join(home, "bad.so")
	clitest.Write(t, bad, []byte("\x7fELF and no more"))
	t.Setenv("HEADWATER_XLA", bad)
	t.Setenv("HEADWATER_CUDA", bad)
	d := diagnose(t)
	b := d.backend(t, "xla")
	if !strings.Contains(b.Problem, bad) &&
		!strings.Contains(b.Problem, "not part of this program") {
		t.Errorf("backend xla with a bad plugin: %+v", b)
	}
	if b := d.backend(t, "go"); b.Problem != "" || b.Measured == nil {
		t.Errorf("backend go beside a bad plugin: %+v", b)
	}
	if b := d.backend(t, "cuda"); b.Problem == "" {
		t.Errorf("backend cuda with a bad plugin: %+v", b)
	}
}

// A backend that ends its process, or hangs, is reported as a problem of that backend.
func TestProbeApart(t *testing.T) {
	nowhere(t)
	t.Setenv(clitest.AsProgram, "1")
	_, err := probeApart(t.Context(), "abacus", doctorFlags{size: 16, timeout: 1e11})
	if err == nil || !strings.Contains(err.Error(), `"abacus" is unknown`) {
		t.Errorf("error %v", err)
	}
	_, err = probeApart(t.Context(), "go", doctorFlags{size: 16, timeout: 1})
	if err == nil || !strings.Contains(err.Error(), "has not answered within 1ns") {
		t.Errorf("error %v", err)
	}
	t.Setenv("GODEBUG", "invalid")
	t.Setenv("GOMEMLIMIT", "nonsense") // ends every Go program when it starts
	_, err = probeApart(t.Context(), "go", doctorFlags{size: 16, timeout: 1e11})
	if err == nil || !strings.Contains(err.Error(), "ends the program that uses it") {
		t.Errorf("error %v", err)
	}
}

func TestCompare(t *testing.T) {
	result := func(text string, p float64) *probeResult {
		return &probeResult{Check: &checkResult{text, p}}
	}
	d := diagnosis{Backends: []backendFacts{
		{Name: "go", Measured: result("john", .9)},
		{Name: "xla", Measured: result("john", .90001)},
		{Name: "cuda", Measured: result("john", .91)},
		{Name: "other", Measured: result("mary", .9)},
		{Name: "none"},
	}}
	d.compare()
	var wrong []string
	for _, b := range d.Backends {
		if strings.Contains(b.Problem, "its numbers are wrong") {
			wrong = append(wrong, b.Name)
		}
	}
	if diff := cmp.Diff([]string{"cuda", "other"}, wrong); diff != "" {
		t.Errorf("wrong backends: want -, got +\n%s", diff)
	}
}

func TestSettings(t *testing.T) {
	env := map[string]string{"HF_TOKEN": "hf_secret", "XLA_FLAGS": "", "HF_HOME": "/h"}
	got := map[string]string{}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	for _, s := range settings(lookup) {
		got[s.Name] = s.Shown
		if s.Meaning == "" || s.Set != (s.Shown != "not set") {
			t.Errorf("setting %+v", s)
		}
	}
	for name, want := range map[string]string{
		"HF_TOKEN": "set", "XLA_FLAGS": "empty", "HF_HOME": "/h", "HF_HUB_CACHE": "not set",
		"HEADWATER_COMPILE_CACHE": "not set", "HEADWATER_ENGINE_MEMORY": "not set",
		"HEADWATER_ENGINE_MODELS": "not set",
	} {
		if got[name] != want {
			t.Errorf("%s is shown as %q, want %q", name, got[name], want)
		}
	}
}

func TestBackendArgument(t *testing.T) {
	for line, want := range map[string]string{
		"explain --backend cuda x":              "cuda",
		"explain --backend=cuda:/p.so x":        "cuda:/p.so",
		"explain x":                             "",
		"explain --backend":                     "",
		"explain --backend go --backend=cuda x": "cuda",
		"explain -- --backend cuda":             "",
	} {
		if got := backendArgument(strings.Fields("headwater " + line)); got != want {
			t.Errorf("backendArgument(%s) = %q, want %q", line, got, want)
		}
	}
	if got := cudaSettings("cuda"); got != nil && len(backends.Names()) != 3 {
		t.Errorf("settings %q", got)
	}
}

// The program starts itself again once with the folders of the libraries, for this backend only.
func TestRestart(t *testing.T) {
	if _, err := backends.PluginPath("cuda"); err == nil ||
		strings.Contains(err.Error(), "not part of this program") {
		t.Skip("needs a build with XLA on a machine without a GPU")
	}
	t.Setenv(clitest.AsProgram, "1")
	self, err := os.Executable()
	must(t, err)
	args := []string{"explain", "--backend", "cuda", "x"}
	cmd := exec.Command(self, args...) //nolint:gosec // this program itself
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "backend cuda: ") {
		t.Errorf("explain --backend cuda: %v, %s", err, out)
	}
}

func TestSetupRefusals(t *testing.T) {
	nowhere(t)
	headwater.CheckRefusals(t, []clitest.Refusal{
		{"setup alone", []string{"setup"}, "", 2, "known is xla"},
		{"unknown part", []string{"setup", "tpu"}, "", 2, `unknown command "tpu"`},
		{"no such file", []string{"setup", "xla", "--dir", "OUT", "--from", "/nowhere.whl", "--sha256", strings.Repeat("0", 64)}, "", 1, "no such file"},
		{"hash alone", []string{"setup", "xla", "--sha256", "0"}, "", 2, "the file of --from, which is missing"},
		{"two sources", []string{"setup", "xla", "--source", "wheel", "--from", "x"}, "", 2, "do not go together"},
		{"unknown source", []string{"setup", "xla", "--source", "conda"}, "", 2, `--source "conda" is unknown; known are go-xla, wheel`},
		{"size", []string{"doctor", "--size", "3"}, "", 2, `--size "3": want a whole number from 16 to 16384`},
		{"timeout", []string{"doctor", "--timeout", "0s"}, "", 2, `--timeout "0s": want a time from 1ms to 24h`},
		{"argument", []string{"doctor", "xla"}, "", 2, "doctor takes no argument"},
	})
}
