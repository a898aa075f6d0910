package kernel

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// The versions that this module is tested with.
const (
	gonbPackage      = "github.com/janpfeifer/gonb@v0.11.4"
	goimportsPackage = "golang.org/x/tools/cmd/goimports@v0.44.0"
	goplsPackage     = "golang.org/x/tools/gopls@v0.23.0"
)

// Programs are the paths of the programs that a kernel runs; "" for each that is missing.
type Programs struct {
	Go        string `json:"go"`
	GoNB      string `json:"gonb"`
	Goimports string `json:"goimports"`
	// Gopls completes names and shows their documentation. Cells run without it.
	Gopls string `json:"gopls"`
}

// FindPrograms looks for the programs, in this order: in the directories of path, which is a list
// as PATH is; beside this program; in PATH; where Go is installed by default; where the command go
// install puts programs; and in .cache/bin of the clone that this program was built in.
func FindPrograms(ctx context.Context, path string) Programs {
	dirs := filepath.SplitList(path)
	if self, err := os.Executable(); err == nil {
		dirs = append(dirs, filepath.Dir(self))
	}
	dirs = append(dirs, filepath.SplitList(os.Getenv("PATH"))...)
	dirs = append(dirs, "/usr/local/go/bin")
	p := Programs{Go: findProgram("go", dirs)}
	if p.Go != "" {
		if bin := goSetting(ctx, p.Go, "GOBIN"); bin != "" {
			dirs = append(dirs, bin)
		}
		for _, gopath := range filepath.SplitList(goSetting(ctx, p.Go, "GOPATH")) {
			dirs = append(dirs, filepath.Join(gopath, "bin"))
		}
	}
	if source, err := builtFrom(); err == nil {
		dirs = append(dirs, filepath.Join(source, ".cache", "bin"))
	}
	p.GoNB = findProgram("gonb", dirs)
	p.Goimports = findProgram("goimports", dirs)
	p.Gopls = findProgram("gopls", dirs)
	return p
}

// findProgram returns the path of the first program of that name in the directories, or "".
func findProgram(name string, dirs []string) string {
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		if !filepath.IsAbs(path) || isGoCommand(path) {
			continue
		}
		if found, err := exec.LookPath(path); err == nil {
			return found
		}
	}
	return ""
}

// Check returns an error about how to install the first program that is missing, if cells do
// not run without it.
func (p Programs) Check() error {
	const lacks = "%s is missing, which runs the cells of notebooks; install it with: " +
		"go install %s"
	switch {
	case p.Go == "":
		return pkg.Errorf("the command go is missing, which compiles the cells of " +
			"notebooks: install Go 1.26.5 or newer from https://go.dev/dl/")
	case p.GoNB == "":
		return pkg.Errorf(lacks, "GoNB", gonbPackage)
	case p.Goimports == "":
		return pkg.Errorf(lacks, "goimports", goimportsPackage)
	}
	return nil
}

// Remark names what is missing of what cells do not need, or "".
func (p Programs) Remark() string {
	if p.Gopls != "" {
		return ""
	}
	return "gopls is missing, so Tab completes no names; it comes with: go install " + goplsPackage
}

// dirs returns the directories of the programs, each once.
func (p Programs) dirs() []string {
	var dirs []string
	for _, path := range []string{p.GoNB, p.Goimports, p.Gopls, p.Go} {
		if dir := filepath.Dir(path); path != "" && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// goSetting returns a variable of the go command, or "" if it does not say. It does not ask in the
// folder of the notebook, whose go.mod may want another version of Go.
func goSetting(ctx context.Context, goCommand, name string) string {
	out, err := goOutput(ctx, goCommand, os.TempDir(), os.Environ(), "env", name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(out)
}

// knowsSIMD reports whether the go command knows the experiment simd.
func knowsSIMD(ctx context.Context, goCommand string) bool {
	env := append(os.Environ(), "GOEXPERIMENT=simd")
	_, err := goOutput(ctx, goCommand, os.TempDir(), env, "env", "GOVERSION")
	return err == nil
}

// goOutput runs the go command in a directory and returns what it prints. The error has what it
// prints to standard error.
func goOutput(
	ctx context.Context, goCommand, dir string, env []string, args ...string,
) (string, error) {
	cmd := exec.CommandContext(ctx, goCommand, args...) //nolint:gosec // the go command
	var stdout, stderr strings.Builder
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		const limit = 500
		output := strings.Join(strings.Fields(stderr.String()), " ")
		if len(output) > limit {
			output = strings.ToValidUTF8(output[:limit], "") + "…"
		}
		return "", fmt.Errorf("go %s: %s (%w)", args[0], output, err)
	}
	return stdout.String(), nil
}
