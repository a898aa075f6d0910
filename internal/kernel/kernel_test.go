package kernel

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPrepare checks the command line and the environment of GoNB in a blank folder.
func TestPrepare(t *testing.T) {
	goCommand(t)
	clone, err := builtFrom()
	must(t, err)
	bin, cache := realDir(t), realDir(t)
	write(t, bin, map[string]string{"gonb": "#!/bin/sh\n", "goimports": "#!/bin/sh\n"})
	for _, name := range []string{"gonb", "goimports"} {
		must(t, os.Chmod(filepath.Join(bin, name), 0o700))
	}
	t.Chdir(realDir(t))
	for name, value := range map[string]string{
		"XDG_CACHE_HOME": cache, "HOME": cache, "GOWORK": "off", "GOFLAGS": "-mod=mod -v",
		"GOEXPERIMENT": "", "HEADWATER_ENGINE": "",
	} {
		t.Setenv(name, value)
	}
	var said []string
	o := StartOptions{
		Connection: "file.json", Path: bin,
		Log: func(line string) { said = append(said, line) },
	}
	command, env, err := prepare(t.Context(), &o)
	if err != nil || len(said) > 0 || o.Source != clone {
		t.Fatal(err, said, o.Source)
	}
	want := []string{
		bin + "/gonb", "--kernel", "file.json", "-raw_error", "-go_work=" + clone,
	}
	if !slices.Equal(command, want) {
		t.Errorf("command %q, want %q", command, want)
	}
	got := map[string]string{}
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		got[name] = value
	}
	if _, ok := got["GOWORK"]; ok || got["GOFLAGS"] != "-v" ||
		got["GOMLX_NO_AUTO_INSTALL"] != "1" || got["HEADWATER_ENGINE"] != "" {
		t.Errorf("environment %q", env)
	}
	path := filepath.SplitList(got["PATH"])
	if len(path) < 3 || !strings.HasPrefix(path[0], cache) || path[1] != bin {
		t.Fatalf("PATH begins with %q, want a folder in %s, then %s", path[:min(2, len(path))],
			cache, bin)
	}
	// A kernel that is started in a notebook does not take that notebook's go for the real one.
	t.Setenv("PATH", got["PATH"])
	if found := FindPrograms(t.Context(), got["PATH"]); strings.HasPrefix(found.Go, cache) {
		t.Errorf("the go command is %s", found.Go)
	}
}

// TestWrittenFlags checks that flags which go env -w wrote, and which do not go with a workspace,
// are gone in the environment of GoNB.
func TestWrittenFlags(t *testing.T) {
	command := goCommand(t)
	settings := filepath.Join(t.TempDir(), "env")
	write(t, filepath.Dir(settings), map[string]string{"env": "GOFLAGS=-mod=mod\n"})
	t.Setenv("GOENV", settings)
	t.Setenv("GOFLAGS", "")
	env := environment(t.Context(), command, os.Environ(), nil)
	out, err := goOutput(t.Context(), command, t.TempDir(), env, "env", "GOFLAGS")
	if got := strings.TrimSpace(out); err != nil || got != "" {
		t.Errorf("GOFLAGS of GoNB = %q, %v; want none", got, err)
	}
}

// TestGoScript checks which commands the go command of notebooks passes on, with a go command that
// writes down what it is asked.
func TestGoScript(t *testing.T) {
	cache, temp, fake := realDir(t), realDir(t), filepath.Join(realDir(t), "it's go")
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	t.Setenv("GONB_TMP_DIR", temp)
	asked := filepath.Join(filepath.Dir(fake), "asked")
	t.Setenv("ASKED", asked)
	write(t, filepath.Dir(fake), map[string]string{
		filepath.Base(fake): "#!/bin/sh\necho \"$*\" >>\"$ASKED\"\n" +
			"if [ \"$1\" = list ]; then echo \"$MISSING\"; fi\n",
	})
	must(t, os.Chmod(fake, 0o700))
	bin, err := writeGoCommand(fake)
	must(t, err)
	const list = "list -e -deps -f {{if .Error}}{{.ImportPath}}{{end}} .\n"
	const require = "mod edit -require=" + modulePath + "@v0.0.0-00010101000000-000000000000\n"
	replaced := "module x\n\nreplace " + modulePath + " => /clone\n"
	for _, c := range []struct {
		name    string
		imports string
		mod     string
		missing string
		dir     string
		args    []string
		want    string
	}{
		{"first cell", `"fmt"`, replaced, "", temp, []string{"get"}, list},
		{"same imports", `"fmt"`, replaced, "", temp, []string{"get"}, ""},
		{"other imports", `"os"`, replaced, "", temp, []string{"get"}, list},
		{"test", `"io"`, replaced, "", temp, []string{"get", "-t"}, strings.Replace(list, "-deps", "-deps -test", 1)},
		{"a package is missing", `"x.y/z"`, replaced, "x.y/z", temp, []string{"get"}, list + require + "get\n"},
		{"it is still missing", `"x.y/z"`, replaced, "x.y/z", temp, []string{"get"}, list + require + "get\n"},
		{"another module", `"x.y/z"`, "module x\n", "x.y/z", temp, []string{"get"}, list + "get\n"},
		{"a named package", `"os"`, replaced, "", temp, []string{"get", "x.y/z"}, "get x.y/z\n"},
		{"another folder", `"os"`, replaced, "", cache, []string{"get"}, "get\n"},
		{"another command", `"os"`, replaced, "", temp, []string{"build", "-o", "a b"}, "build -o a b\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			write(t, temp, map[string]string{
				"go.mod": c.mod, "go.work": "use .\n",
				"main.go": "package main\n\nimport (\n\t" + c.imports + "\n)\n\nfunc main() {}\n",
			})
			_ = os.Remove(asked)
			t.Setenv("MISSING", c.missing)
			cmd := exec.Command(filepath.Join(bin, "go"), c.args...)
			cmd.Dir = c.dir
			if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
				t.Fatalf("%v: %s", err, out)
			}
			got, _ := os.ReadFile(asked)
			if string(got) != c.want {
				t.Errorf("go was asked %q, want %q", got, c.want)
			}
		})
	}
}

// TestGoScriptThatCannotRun checks that an unusable go command is an error and leaves no file.
func TestGoScriptThatCannotRun(t *testing.T) {
	cache := realDir(t)
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	if dir, err := writeGoCommand("/nothing/go"); err == nil ||
		!strings.Contains(err.Error(), "the go command of notebooks") {
		t.Errorf("writeGoCommand() = %q, %v", dir, err)
	}
	if left := contents(t, cache); strings.Contains(left, "/go ") {
		t.Errorf("left is %s", left)
	}
}

func TestWorkspaceFlags(t *testing.T) {
	for flags, want := range map[string]string{
		"":                              " ",
		"-mod=mod":                      " ",
		"--mod=vendor -trimpath":        "-trimpath",
		"-modfile=x.mod -v -modcacherw": "-v -modcacherw",
	} {
		if got := workspaceFlags(flags); got != want {
			t.Errorf("workspaceFlags(%q) = %q, want %q", flags, got, want)
		}
	}
}
