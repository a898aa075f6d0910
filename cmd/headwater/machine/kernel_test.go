package machine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/cli/clitest"
	"github.com/headwater-ml/headwater/internal/kernel"
	"github.com/headwater-ml/headwater/internal/xlaplugin"
)

// installed is as if all programs of a kernel were there.
var installed = kernel.Programs{Go: "/bin/go", GoNB: "/bin/gonb", Goimports: "/bin/goimports"}

func TestInstallRefusals(t *testing.T) {
	home := nowhere(t)
	t.Setenv("JUPYTER_DATA_DIR", filepath.Join(home, "data"))
	both := []string{"install", "--user", "--prefix", home}
	headwater.CheckRefusals(t, []clitest.Refusal{
		{"two places", both, "", 2, "--user, --sys-prefix and --prefix do not go together"},
		{"no place", []string{"install", "--prefix", ""}, "", 2, `--prefix "": it is empty; leave it out`},
		{"argument", []string{"install", "here"}, "", 2, `install takes no argument, got "here"`},
		{"nothing to remove", []string{"install", "--uninstall"}, "", 1, "there is no kernel in " + home},
		{"no Python", []string{"install", "--sys-prefix"}, "", 1, "no Python is in PATH"},
		{"no connection", []string{"kernel"}, "", 2, "kernel needs --connection"},
		{"missing connection", []string{"kernel", "--connection", "no.json"}, "", 1, "no.json: no such file"},
		{"misspelt", []string{"instal"}, "", 2, "did you mean install?"},
	})
}

// TestUninstall removes the kernel from the places that the flags name.
func TestUninstall(t *testing.T) {
	home := nowhere(t)
	t.Setenv("JUPYTER_DATA_DIR", filepath.Join(home, "data"))
	prefix := filepath.Join(home, "venv")
	// Instead of a Python, a program that answers as a Python does.
	python := "#!/bin/sh\necho " + prefix + "\n"
	must(t, os.WriteFile(filepath.Join(home, "python3"), []byte(python), 0o700))
	for place, flags := range map[string][]string{
		filepath.Join(home, "data"):             nil,
		filepath.Join(prefix, "share/jupyter"):  {"--prefix", prefix},
		filepath.Join(prefix, "share/jupyter/"): {"--sys-prefix"},
	} {
		path, err := kernel.Install(kernel.InstallOptions{
			DataDir: place, Command: filepath.Join(home, "headwater"),
			Programs: installed,
		})
		must(t, err)
		out := headwater.Output(t, append([]string{"install", "--uninstall"}, flags...)...)
		if out != "removed "+filepath.Dir(path)+"\n" {
			t.Errorf("install --uninstall %v says %q", flags, out)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
}

// TestDoctorOnNotebooks looks for the kernel and its programs.
func TestDoctorOnNotebooks(t *testing.T) {
	home := nowhere(t)
	t.Setenv("JUPYTER_DATA_DIR", filepath.Join(home, "data"))
	t.Setenv("JUPYTER_PATH", "")
	text := headwater.Output(t, "doctor", "--quick")
	for _, want := range []string{"\nnotebooks\n  kernel", "not installed", "  headwater install makes "} {
		if !strings.Contains(text, want) {
			t.Errorf("doctor without a kernel lacks %q:\n%s", want, text)
		}
	}
	_, err := kernel.Install(kernel.InstallOptions{
		DataDir: filepath.Join(home, "data"), Command: filepath.Join(home, "gone"),
		Programs: installed,
	})
	must(t, err)
	text = headwater.Output(t, "doctor", "--quick")
	for _, want := range []string{
		"yes, " + filepath.Join(home, "data", "kernels", "headwater", "kernel.json"),
		"but notebooks do not run: it starts " + filepath.Join(home, "gone"),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("doctor with a broken kernel lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "  headwater install makes ") {
		t.Errorf("doctor advises to install what is installed:\n%s", text)
	}
}

// TestKernelKeepsPlugin checks that the engine of a notebook gets the plugin of the clone in which
// the notebook is, and none in place of the user's own.
func TestKernelKeepsPlugin(t *testing.T) {
	clone := t.TempDir()
	plugin := filepath.Join(clone, ".cache", "xla", xlaplugin.File)
	must(t, os.MkdirAll(filepath.Dir(plugin), 0o700))
	must(t, os.WriteFile(plugin, nil, 0o600))
	t.Chdir(clone)
	for value, want := range map[string]string{"": plugin, "/own.so": "/own.so"} {
		t.Setenv(xlaplugin.Env, value)
		must(t, keepPlugin())
		if got := os.Getenv(xlaplugin.Env); got != want {
			t.Errorf("%s=%q becomes %q, want %q", xlaplugin.Env, value, got, want)
		}
	}
}
