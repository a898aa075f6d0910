package engine

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

const (
	modulePath  = "github.com/headwater-ml/headwater"
	commandPath = modulePath + "/cmd/headwater"

	building = "building the engine (the first time takes a minute)"
)

// binary returns the program to start. It builds the command headwater if nothing else is named,
// and nobody else builds it until release is called.
func (s Start) binary(ctx context.Context) (path string, release func(), err error) {
	if path, err = s.named(); path != "" || err != nil {
		return path, func() {}, err
	}
	s.stage(building)
	return s.build(ctx)
}

// named returns the program to start if that need not be built.
func (s Start) named() (string, error) {
	if strings.ContainsRune(s.Binary, filepath.Separator) {
		return filepath.Abs(s.Binary) // the engine runs in another folder
	}
	if s.Binary != "" { // a name that PATH knows
		return s.Binary, nil
	}
	if s.isOwn() {
		return os.Executable()
	}
	if path := os.Getenv(binaryVariable); path != "" {
		info, err := os.Stat(path)
		if err != nil {
			return "", pkg.Errorf("%s names no program: %w", binaryVariable, err)
		}
		if info.IsDir() || info.Mode()&0o111 == 0 {
			return "", pkg.Errorf("%s names %s, which is not a program (%v)",
				binaryVariable, path, info.Mode())
		}
		return filepath.Abs(path)
	}
	return "", nil
}

// build builds the command headwater from the module that this program was built with, and returns
// its path. The build cache makes that quick if nothing has changed. All notebooks share the file,
// and the system starts no program that somebody writes at that moment ("text file busy"), so it
// stays locked until release is called.
func (s Start) build(ctx context.Context) (path string, release func(), err error) {
	dir, err := moduleDir(ctx)
	if err != nil {
		return "", nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", nil, pkg.Errorf("no directory for the program: %w", err)
	}
	h := fnv.New32a()
	h.Write([]byte(dir))
	path = filepath.Join(cache, "headwater", fmt.Sprintf("engine-%08x", h.Sum32()), "headwater")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", nil, pkg.Errorf("%w", err)
	}
	release, err = s.lock(ctx, filepath.Join(filepath.Dir(path), "lock"),
		"waiting for another notebook that builds the engine")
	if err != nil {
		return "", nil, err
	}
	s.stage(building) // also after waiting
	// The module is the main module here: its own go.sum counts, and the notebook's workspace does
	// not.
	env := append(os.Environ(), "GOWORK=off")
	if runtime.GOARCH == "amd64" && os.Getenv("GOEXPERIMENT") == "" {
		env = append(env, "GOEXPERIMENT=simd") // GoMLX's Go backend is several times faster with it
	}
	args := []string{"build", "-buildvcs=false", "-ldflags=-s -w", "-o", path, commandPath}
	if _, err := goTool(ctx, dir, env, args...); err != nil {
		release()
		return "", nil, pkg.Errorf("building it in %s: %w", dir, err)
	}
	return path, release, nil
}

// moduleDir returns the directory of the module's source. It asks in GoNB's temporary module, which
// has the notebook's workspace, then in the notebook's directory and in the working directory.
func moduleDir(ctx context.Context) (string, error) {
	var first error
	for _, dir := range []string{os.Getenv("GONB_TMP_DIR"), os.Getenv("GONB_DIR"), "."} {
		if dir == "" {
			continue
		}
		out, err := goTool(ctx, dir, os.Environ(), "list", "-m", "-f", "{{.Dir}}", modulePath)
		if found := strings.TrimSpace(out); err == nil && found != "" {
			return found, nil
		}
		if first == nil {
			first = err
		}
	}
	if ctx.Err() != nil {
		return "", pkg.Errorf("interrupted: %w", context.Cause(ctx))
	}
	return "", pkg.Errorf("the source of %s was not found (%v): run in a module that requires it, "+
		"or set %s to the headwater program", modulePath, first, binaryVariable)
}

// goTool runs the go command and returns its output; the error carries what it printed.
func goTool(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		message := strings.TrimSpace(stderr.String())
		const limit = 2000
		if len(message) > limit {
			message = message[:limit] + "…"
		}
		return "", fmt.Errorf("go %s: %w: %s", args[0], err, message)
	}
	return stdout.String(), nil
}
