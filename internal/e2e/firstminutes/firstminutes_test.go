// Package firstminutes tests what somebody meets who tries Headwater for the first time on a
// machine that lacks something. Each way in succeeds, or ends with one line about what is missing
// and what to do, with an exit status other than 0, and with nothing half written.
//
// What cannot be had on Linux is a file system that takes Makefile and makefile for one name.
package firstminutes

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/testhelp"
)

// noProxy is the address of a proxy that does not answer.
const noProxy = "http://127.0.0.1:1"

// An attempt is one command of somebody who tries Headwater.
type attempt struct {
	name string
	args []string
	// env is the environment beside PATH, HOME and HF_ENDPOINT. HOME is here where it is another.
	env []string
	// without are the programs that the machine lacks. A C compiler is gcc.
	without []string
	// script is run by sh in place of the program, which is "$@" there.
	script string
	// prints is in the output of a success. If it is empty, the command must fail: its last line
	// contains ends.
	prints, ends string
	// leaves are the files of the place after it, beside folders, caches of Go and locks.
	leaves []string
}

// TestFirstMinutes makes the attempts, one after the other, in one place.
func TestFirstMinutes(t *testing.T) {
	p := newPlace(t)
	explain := []string{"headwater", "explain", "--backend", "go", "--max-tokens", "1"}
	prompt := "the keys to the cabinet"
	picture := append(slices.Clone(explain), prompt)
	file := append(slices.Clone(explain), "-o", "my page.html", prompt)
	full := "mkdir -p full && mount -t tmpfs -o size=64k none full && " + `"$@"`
	model := "/models--org--name/"
	const needGo = "setup: Go 1.26.5 or newer is needed: https://go.dev/dl/"
	for _, a := range []attempt{
		{name: "no Go, make", args: []string{"make", "build"}, without: []string{"go"}, ends: needGo},
		{
			name: "no Go, image", args: []string{"docker/check.sh"}, without: []string{"go"},
			ends: "check.sh: go is missing",
		},
		{
			name: "no Go, pip", without: []string{"go"}, ends: "headwater: Go 1.26.5 or newer is " +
				"needed to build it: https://go.dev/dl/",
			args: []string{"python3", "-c", hatchling + "import wheel; wheel.go_env('GOOS')"},
			env:  []string{"PYTHONPATH=python", "PYTHONDONTWRITEBYTECODE=1"},
		},
		{
			name: "old Go, make", args: []string{"make", "build"},
			env:  []string{"PATH=" + p.oldGo + ":" + p.programs(t, "go")},
			ends: needGo + " (this is go1.19.8)",
		},
		{
			name: "Go of its developers, no Python, make", args: []string{"make", "build"},
			env:  []string{"PATH=" + p.develGo + ":" + p.programs(t, "go", "python3")},
			ends: "setup: Python 3.11 or newer with its venv module is needed",
		},
		{
			name: "no C compiler", without: []string{"gcc"}, prints: prompt,
			script: `go build -o ../built ./cmd/headwater && ../built explain --max-tokens 1 ` +
				`"` + prompt + `"; status=$?; rm ../built; exit $status`,
			env: p.goCaches(t),
		},
		{
			name: "no Python, make", args: []string{"make", "build"}, without: []string{"python3"},
			ends: "setup: Python 3.11 or newer with its venv module is needed",
		},
		{
			name: "no Python, XLA", without: []string{"python3"},
			args: []string{"headwater", "setup", "xla", "--source", "wheel"},
			ends: "install it from that file (--from FILE)",
		},
		{
			name: "old Python, make", args: []string{"make", "build"},
			env:  []string{"PATH=" + p.oldPython + ":" + p.programs(t, "python3")},
			ends: "Python 3.11 or newer is needed as python3 (this is Python 3.9.2)",
		},
		{
			name: "proxy, make", args: []string{"make", "build"}, env: []string{
				"HTTPS_PROXY=" + noProxy, "HTTP_PROXY=" + noProxy,
				"GOPROXY=https://module-proxy.example", "GOMODCACHE=" + p.folder(t, "modules"),
			},
			ends: "setup: Go tools: failed; mend what is said above and run the same command " +
				"again; HTTPS_PROXY is set, does that proxy answer?; HTTP_PROXY is set",
		},
		{
			name: "proxy, download", args: []string{"headwater", "download", "smollm2"},
			env:  []string{"HTTPS_PROXY=" + noProxy, "HF_ENDPOINT="},
			ends: "connection refused: check the network, or set HF_ENDPOINT to a mirror",
		},
		{
			name: "proxy, XLA", args: []string{"headwater", "setup", "xla", "--source", "go-xla"},
			env: []string{"HTTPS_PROXY=" + noProxy}, ends: "install it from that file (--from FILE)",
		},
		{name: "read-only home", args: picture, env: []string{p.readOnly}, prints: prompt},
		{
			name: "read-only home, download", args: []string{"headwater", "download", "org/name"},
			env: []string{p.readOnly}, ends: ": permission denied; set HF_HOME to another folder",
		},
		{
			name: "read-only home, XLA", args: []string{"headwater", "setup", "xla"},
			env: []string{p.readOnly}, ends: "name another folder (--dir FOLDER)",
		},
		{
			name: "read-only home, notebooks", args: []string{"headwater", "install"},
			env: []string{p.readOnly}, ends: "set JUPYTER_DATA_DIR to another folder",
		},
		{
			name: "read-only home, page", args: file, env: []string{p.readOnly},
			script: `cd "$HOME" && exec "$@"`,
			ends: "output my page.html: no file can be created in that directory " +
				"(permission denied); name a file in another one",
		},
		{
			name: "spaces, page", args: file, prints: "wrote my page.html",
			leaves: []string{"clone/my page.html"},
		},
		{
			name: "spaces, notebooks", args: []string{"headwater", "install"},
			prints: "first minutes/home/.local/share/jupyter/kernels/headwater/kernel.json",
			leaves: []string{
				"home/.local/share/jupyter/kernels/headwater/kernel.json",
				"home/.local/share/jupyter/kernels/headwater/logo-svg.svg",
			},
		},
		{
			name: "macOS, download", args: []string{"headwater", "download", "org/name"},
			env:    p.macOS,
			prints: "Users/Jane Doe/Library/Caches/huggingface/hub" + model,
			leaves: []string{"Users/Jane Doe/Library/Caches/huggingface/hub" + model},
		},
		{
			name: "macOS, notebooks", args: []string{"headwater", "install"}, env: p.macOS,
			prints: "Users/Jane Doe/Library/Jupyter/kernels/headwater/kernel.json",
			leaves: []string{
				"Users/Jane Doe/Library/Jupyter/kernels/headwater/kernel.json",
				"Users/Jane Doe/Library/Jupyter/kernels/headwater/logo-svg.svg",
			},
		},
		{name: "no terminal", args: picture, script: `exec "$@" <&-`, prints: prompt},
		{
			name: "no terminal, no prompt", args: explain, script: `exec "$@" <&-`,
			ends: "explain needs a prompt, for example: headwater explain \"" + prompt + `"`,
		},
		{
			name: "a name in other letters", args: append(slices.Clone(picture), "--model", "Tiny"),
			ends: "Tiny: did you mean tiny?",
		},
		{
			name: "a gated model", args: append(slices.Clone(picture), "--model", "org/gated"),
			ends: "/org/gated, then set HF_TOKEN to a token of that account",
		},
		{
			name: "weights of PyTorch alone", args: append(slices.Clone(picture), "--model", "bin"),
			script: `mkdir bin; echo '{"model_type":"gpt2"}' >bin/config.json; ` +
				`echo >bin/pytorch_model.bin; "$@"; status=$?; rm -r bin; exit $status`,
			ends: `from_pretrained("bin").save_pretrained("bin")`,
		},
		{
			name: "no such folder, page",
			args: append(slices.Clone(explain), "-o", "no/a.html", prompt),
			ends: "the directory no/ does not exist; make it, or name a file in another one",
		},
		{
			name:   "one message in place of a list",
			args:   append(slices.Clone(explain), "--messages", "-"),
			script: `echo '{"role": "user", "content": "hello"}' | "$@"`,
			ends:   `such as [{"role": "user", "content": "…"}], or an object with one`,
		},
		{
			name: "a file of another editor", args: append(slices.Clone(explain), "--input", "-"),
			script: `printf '\357\273\277{"prompt": "the keys"}\r\n' | "$@"`,
			prints: `"text":"the keys"`,
		},
		{
			name: "a pipe that ends early", args: append(slices.Clone(picture), "--format", "html"),
			script: `"$@" | head -c 9`, prints: "<!DOCTYPE",
		},
		{name: "no language", args: picture, env: []string{"LC_ALL=C", "NO_COLOR=1"}, prints: prompt},
		{
			name: "full disk, page", script: full,
			args: append(slices.Clone(explain), "-o", "full/a.html", "-o", "full/a.json", prompt),
			ends: "no space left on device; free some space, or write to another disk",
		},
		{
			name: "full disk, download", args: []string{"headwater", "download", "org/name"},
			script: full, env: []string{"HF_HOME=full"},
			ends: "the bytes so far are kept; make room in full/hub, or set HF_HOME to another " +
				"disk, and try again",
		},
		{
			name: "full disk, notebooks", args: []string{"headwater", "install"},
			script: strings.Replace(full, "64k", "4k", 1), env: []string{"JUPYTER_DATA_DIR=full"},
			ends: "no space left on device; set JUPYTER_DATA_DIR to another folder",
		},
		{
			name:   "full disk, XLA",
			script: full + ` --sha256 "$(sha256sum ../bin/headwater | cut -c 1-64)"`,
			args:   []string{"headwater", "setup", "xla", "--dir", "full", "--from", p.bin},
			ends:   "no space left on device; make room there, or name another folder (--dir FOLDER)",
		},
	} {
		t.Run(a.name, func(t *testing.T) { a.run(t, p) })
	}
}

// hatchling stands for the package of that name, which only a build has.
const hatchling = `import sys, types
for n in ("hatchling", "hatchling.builders", "hatchling.builders.hooks",
          "hatchling.builders.hooks.plugin", "hatchling.builders.hooks.plugin.interface"):
    sys.modules[n] = types.ModuleType(n)
sys.modules[n].BuildHookInterface = object
`

// fault is what nobody should see.
var fault = regexp.MustCompile(`(?m)^panic:|^goroutine |^Traceback|\x1b\[`)

// run makes an attempt in the clone of a place and removes what it has left.
func (a attempt) run(t *testing.T, p *place) {
	before := p.files(t)
	words := slices.Clone(a.args)
	if a.script != "" {
		words = append([]string{"sh", "-c", a.script, "sh"}, words...)
	}
	if strings.Contains(a.script, "mount") {
		if err := exec.CommandContext(t.Context(), "unshare", "-rm", "true").Run(); err != nil {
			t.Skip("this machine lets nobody mount a small disk: ", err)
		}
		words = append([]string{"unshare", "-rm"}, words...)
	}
	path := p.programs(t, a.without...)
	env := append([]string{
		"PATH=" + path, "HOME=" + filepath.Join(p.root, "home"), "HF_ENDPOINT=" + p.hub,
	}, a.env...)
	cmd := exec.CommandContext(t.Context(), "env", append(append([]string{"-i"}, env...), words...)...)
	cmd.Dir = p.clone
	if slices.Contains(a.env, p.readOnly) {
		leaveRoot(cmd)
	}
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	exit := (*exec.ExitError)(nil)
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	both := stdout.String() + stderr.String()
	switch last := lastLine(stderr.String()); {
	case fault.MatchString(both):
		t.Errorf("it prints what is not for people:\n%s", both)
	case a.prints != "" && (err != nil || !strings.Contains(both, a.prints)):
		t.Errorf("%v, it prints no %q:\n%s", err, a.prints, both)
	case a.prints == "" && (err == nil || !strings.Contains(last, a.ends)):
		t.Errorf("%v, its last line is\n%q, want\n%q in\n%s", err, last, a.ends, both)
	}
	for _, name := range p.files(t) {
		wanted := func(leave string) bool { return strings.HasPrefix(name, leave) }
		if !slices.Contains(before, name) {
			if !slices.ContainsFunc(a.leaves, wanted) {
				t.Errorf("it leaves %s", name)
			}
			must(t, os.RemoveAll(filepath.Join(p.root, name)))
		}
	}
}

// lastLine returns the last line that is not make's own.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) > 1 && strings.HasPrefix(lines[len(lines)-1], "make: ***") {
		lines = lines[:len(lines)-1]
	}
	return lines[len(lines)-1]
}

var must = testhelp.Must // ends a test at an error
