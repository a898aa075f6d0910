package kernel

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/headwater-ml/headwater/internal/message"
)

// Name is the name of the kernel, and DisplayName what Jupyter shows.
const (
	Name        = "headwater"
	DisplayName = "Go (Headwater)"
)

// The files of the kernel, in a directory named [Name].
const (
	specFile = "kernel.json"
	logoFile = "logo-svg.svg"
)

//go:embed logo.svg
var logo []byte

// spec is the file kernel.json as Jupyter reads it.
type spec struct {
	Argv          []string          `json:"argv"`
	DisplayName   string            `json:"display_name"`
	Language      string            `json:"language"`
	InterruptMode string            `json:"interrupt_mode"`
	Env           map[string]string `json:"env,omitempty"`
	Metadata      map[string]any    `json:"metadata"`
}

// InstallOptions selects what to install.
type InstallOptions struct {
	// DataDir is the data directory of a Jupyter, such as that of [UserDataDir].
	DataDir string
	// Command is the path of the program headwater that the kernel starts. Default: this program.
	Command string
	// Programs are those that the kernel runs. Their directories are written into the kernel,
	// because a Jupyter that is not started from a shell has a short PATH.
	Programs Programs
	// Keep names environment variables that are paths. The kernel gets them with their present
	// values, made absolute.
	Keep []string
}

// Install writes the kernel and returns the path of its kernel.json. It replaces an older kernel of
// Headwater, and refuses to replace anything else.
func Install(o InstallOptions) (string, error) {
	if err := o.Programs.Check(); err != nil {
		return "", err
	}
	command := o.Command
	if command == "" {
		self, err := os.Executable()
		if err != nil {
			return "", pkg.Errorf("the path of this program: %w", err)
		}
		command = self
	}
	if strings.Contains(command, string(filepath.Separator)+"go-build") {
		return "", pkg.Errorf("%s is there only while go run runs it: "+
			"install it first with go install, and run what that makes", command)
	}
	dir, err := openDir(o.DataDir)
	if err != nil {
		return "", err
	}
	s := spec{
		Argv: []string{
			command, "kernel", "--connection", "{connection_file}", "--path",
			strings.Join(o.Programs.dirs(), string(filepath.ListSeparator)),
		},
		DisplayName: DisplayName, Language: "go", InterruptMode: "message",
		Env:      map[string]string{},
		Metadata: map[string]any{Name: true},
	}
	for _, name := range o.Keep {
		// Jupyter replaces names after a dollar sign.
		value, err := filepath.Abs(os.Getenv(name))
		if err == nil && os.Getenv(name) != "" && !strings.Contains(value, "$") {
			s.Env[name] = value
		}
	}
	data, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return "", pkg.Errorf("%w", err)
	}
	if err := writeKernel(dir, append(data, '\n')); err != nil {
		return "", pkg.Errorf("%w; set JUPYTER_DATA_DIR to another folder", err)
	}
	return filepath.Join(dir, specFile), nil
}

// writeKernel writes the files of the kernel. If that fails, as on a full disk, it leaves no folder
// of a kernel that was not there.
func writeKernel(dir string, kernelJSON []byte) error {
	_, err := os.Lstat(dir)
	missing := errors.Is(err, fs.ErrNotExist)
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // for every user
		return pkg.Errorf("%w", err)
	}
	err = writeFile(filepath.Join(dir, logoFile), logo, 0o644)
	if err == nil {
		err = writeFile(filepath.Join(dir, specFile), kernelJSON, 0o644)
	}
	if err != nil && missing {
		_ = os.RemoveAll(dir)
	}
	return err
}

// Uninstall removes the kernel from the data directory of a Jupyter and returns the directory that
// it had. It returns an error if there is none, or what is there is not of Headwater.
func Uninstall(dataDir string) (string, error) {
	dir, err := openDir(dataDir)
	if err != nil {
		return "", err
	}
	if _, err := os.Lstat(filepath.Join(dir, specFile)); errors.Is(err, fs.ErrNotExist) {
		return "", pkg.Errorf("there is no kernel in %s", dir)
	}
	for _, file := range []string{logoFile, specFile} {
		if err := os.Remove(filepath.Join(dir, file)); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			return "", pkg.Errorf("%w", err)
		}
	}
	if err := os.Remove(dir); err != nil {
		return "", pkg.Errorf("the kernel is removed, but its directory has other files: %w", err)
	}
	return dir, nil
}

// openDir returns the directory of the kernel. The error says that something else is there.
func openDir(dataDir string) (string, error) {
	dir, err := filepath.Abs(filepath.Join(dataDir, "kernels", Name))
	if err != nil {
		return "", pkg.Errorf("%w", err)
	}
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return dir, nil
	case err != nil:
		return "", pkg.Errorf("%w", err)
	case !info.IsDir():
		return "", pkg.Errorf("%s is not a directory (%v): move or remove it", dir, info.Mode())
	}
	if _, err := readSpec(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return dir, nil
}

// readSpec reads the kernel.json of a kernel of Headwater.
func readSpec(dir string) (spec, error) {
	var s spec
	path := filepath.Join(dir, specFile)
	info, err := os.Lstat(path)
	if err != nil {
		return s, pkg.Errorf("%w", err)
	}
	const most = 1 << 20
	if !info.Mode().IsRegular() || info.Size() > most {
		return s, pkg.Errorf("%s is not a file of a kernel (%v, %d bytes): "+
			"move or remove it", path, info.Mode(), info.Size())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return s, pkg.Errorf("%w", err)
	}
	if err := json.Unmarshal(data, &s); err != nil || s.Metadata[Name] != true {
		return s, pkg.Errorf("%s was not written by headwater: move or remove it", path)
	}
	return s, nil
}

// UserDataDir returns the data directory of the user's Jupyter, as Jupyter finds it:
// JUPYTER_DATA_DIR, or the place for each system.
func UserDataDir() (string, error) {
	if dir := os.Getenv("JUPYTER_DATA_DIR"); dir != "" {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", pkg.Errorf("the user's Jupyter: %w; set JUPYTER_DATA_DIR", err)
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Jupyter"), nil
	}
	if data := os.Getenv("XDG_DATA_HOME"); data != "" {
		return filepath.Join(data, "jupyter"), nil
	}
	return filepath.Join(home, ".local", "share", "jupyter"), nil
}

// PrefixDataDir returns the data directory of a Jupyter that is installed below prefix, as in a
// virtual environment.
func PrefixDataDir(prefix string) string { return filepath.Join(prefix, "share", "jupyter") }

// SysPrefix returns the prefix of the Python in PATH: the folder of a virtual environment, or of
// the system.
func SysPrefix() (string, error) {
	for _, python := range []string{"python3", "python"} {
		out, err := exec.Command(python, "-c", "import sys; print(sys.prefix)").Output()
		if prefix := strings.TrimSpace(string(out)); err == nil && filepath.IsAbs(prefix) {
			return prefix, nil
		}
	}
	return "", pkg.Errorf("no Python is in PATH: activate the virtual environment, " +
		"or name its folder")
}

// Status is what is known about the kernel on this machine.
type Status struct {
	// Spec is the path of the kernel.json that Jupyter reads; "" if there is none.
	Spec     string   `json:"spec"`
	Programs Programs `json:"programs"`
	// Problem is why notebooks do not run; "" if they do.
	Problem string `json:"problem,omitempty"`
}

// Examine looks for the kernel where Jupyter looks: in JUPYTER_PATH, in the user's directory, in an
// active virtual environment, beside the program jupyter, and in the directories of the system.
func Examine(programs Programs) Status {
	status := Status{Programs: programs}
	if err := programs.Check(); err != nil {
		status.Problem = message.Words(err, nil)
	}
	for _, dataDir := range dataDirs() {
		dir := filepath.Join(dataDir, "kernels", Name)
		s, err := readSpec(dir)
		if err != nil {
			continue
		}
		status.Spec = filepath.Join(dir, specFile)
		if len(s.Argv) == 0 {
			status.Problem = "its kernel.json names no program"
		} else if _, err := exec.LookPath(s.Argv[0]); err != nil {
			status.Problem = fmt.Sprintf("it starts %s, which is no program any more", s.Argv[0])
		}
		break
	}
	return status
}

// dataDirs returns the directories in which Jupyter looks for kernels.
func dataDirs() []string {
	dirs := filepath.SplitList(os.Getenv("JUPYTER_PATH"))
	if dir, err := UserDataDir(); err == nil {
		dirs = append(dirs, dir)
	}
	for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if prefix := os.Getenv(name); prefix != "" {
			dirs = append(dirs, PrefixDataDir(prefix))
		}
	}
	if jupyter, err := exec.LookPath("jupyter"); err == nil {
		dirs = append(dirs, PrefixDataDir(filepath.Dir(filepath.Dir(jupyter))))
	}
	return append(dirs, PrefixDataDir("/usr/local"), PrefixDataDir("/usr"))
}
