// Package kernel makes Headwater a kernel of Jupyter: [Install] writes the file by which Jupyter
// finds it, and [Start] becomes it.
//
// The kernel is GoNB, with [Between] between it and Jupyter, told which modules the cells of this
// notebook may import:
//
//   - In a clone of this module, the clone.
//   - In a project that requires this module, the project and the version that it requires.
//   - Anywhere else, the source that this program was built from.
//
// So one first cell is right in all three, and needs no setting:
//
//	import "github.com/headwater-ml/headwater/gonbext"
//
//	%%
//	gonbext.Explain("the keys to the cabinet")
package kernel

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"syscall"

	"github.com/headwater-ml/headwater/internal/message"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("kernel")

// modulePath is this module.
const modulePath = "github.com/headwater-ml/headwater"

// engineVariable names the program that cells start as the engine; see package engine.
const engineVariable = "HEADWATER_ENGINE"

// StartOptions has the settings of a kernel's start.
type StartOptions struct {
	// Connection is the file in which Jupyter says how to reach it.
	Connection string
	// Path lists directories, as PATH does, that are searched before PATH for go, gonb, goimports
	// and gopls.
	Path string
	// Log is called with one line for each thing that is not as expected and is survived.
	Log func(line string)

	// GoNB is the file in which GoNB reads how to serve, and Source the directory of this module
	// whose names cells know. [Start] gives them to [Between], which needs the rest as well.
	GoNB, Source string
	// Near returns the known names that a name is a misspelling of.
	Near func(name string, known []string) []string
	// Values are the values that Tab completes within quotes, by field.
	Values map[string][]string
}

// Start replaces this process by GoNB, which serves a notebook whose folder is the working
// directory. So GoNB has the process number by which Jupyter and the engine know the kernel. A
// program that runs [Between] is left beside it. Start returns only if it fails.
func Start(ctx context.Context, o StartOptions) error {
	if runtime.GOOS == "windows" {
		return pkg.Errorf("notebooks need Linux, macOS, or WSL on Windows: " +
			"the command headwater works here without them")
	}
	command, env, err := prepare(ctx, &o)
	if err != nil {
		return err
	}
	if command[2], err = startBetween(o, env); err == nil {
		//nolint:gosec // GoNB, which the user has installed
		err = syscall.Exec(command[0], command, env)
	}
	return pkg.Errorf("starting %s: %w", command[0], err)
}

// prepare returns the command line of GoNB and its environment, and sets Source.
func prepare(ctx context.Context, o *StartOptions) (command, env []string, err error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, nil, pkg.Errorf("the folder of the notebook: %w", err)
	}
	found := FindPrograms(ctx, o.Path)
	if err := found.Check(); err != nil {
		return nil, nil, err
	}
	w, err := findWorkspace(ctx, found.Go, dir)
	if err != nil {
		return nil, nil, err
	}
	for _, remark := range w.remarks {
		o.Log(remark)
	}
	o.Source = w.source
	path := found.dirs()
	if shim, err := writeGoCommand(found.Go); err == nil {
		path = append([]string{shim}, path...)
	} else { // cells work without it, but each takes longer and needs the network
		o.Log(err.Error())
	}
	env = environment(ctx, found.Go, os.Environ(), path)
	if self, err := os.Executable(); err == nil && w.ownRelease && os.Getenv(engineVariable) == "" {
		env = append(env, engineVariable+"="+self)
	}
	command = []string{
		found.GoNB, "--kernel", o.Connection, "-raw_error",
		"-go_work=" + strings.Join(w.dirs, ","),
	}
	return command, env, nil
}

// environment returns the environment of GoNB: that of this process without settings of the go
// command that do not go with a workspace, with path before PATH.
func environment(ctx context.Context, goCommand string, environ, path []string) []string {
	flags := goSetting(ctx, goCommand, "GOFLAGS")
	env := without(environ, "GOWORK", "GOFLAGS", "PATH")
	env = append(env,
		"GOFLAGS="+workspaceFlags(flags),
		"PATH="+strings.Join(append(path, os.Getenv("PATH")), string(filepath.ListSeparator)),
		"GOMLX_NO_AUTO_INSTALL=1", // a cell must not install what the user did not ask for
	)
	if os.Getenv("GOEXPERIMENT") == "" && runtime.GOARCH == "amd64" && knowsSIMD(ctx, goCommand) {
		env = append(env, "GOEXPERIMENT=simd") // GoMLX's Go backend is several times faster with it
	}
	return env
}

// workspaceFlags returns the flags of GOFLAGS without those that the go command refuses in a
// workspace. It is never empty: for an empty GOFLAGS the go command takes what go env -w wrote.
func workspaceFlags(flags string) string {
	var allowed []string
	for _, flag := range strings.Fields(flags) {
		name, _, _ := strings.Cut(strings.TrimLeft(flag, "-"), "=")
		if name != "mod" && name != "modfile" {
			allowed = append(allowed, flag)
		}
	}
	if allowed == nil {
		return " "
	}
	return strings.Join(allowed, " ")
}

// without returns an environment without some variables.
func without(environ []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(names, name)
	})
}
