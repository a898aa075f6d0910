// Package xlaplugin finds, checks and installs the native libraries that XLA needs: PJRT plugins,
// one for CPUs and one for NVIDIA GPUs. It needs no cgo and loads nothing, so a program without XLA
// can still say what is missing.
package xlaplugin

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Environment variables that name plugins.
const (
	// Env is the path of the CPU plugin.
	Env = "HEADWATER_XLA"
	// CUDAEnv is the path of the CUDA plugin, or of the Python folder (site-packages) that holds
	// jax_plugins and nvidia.
	CUDAEnv = "HEADWATER_CUDA"
	// LogEnv sets how much the CUDA plugin logs: all is "0". By default it is LogErrors.
	LogEnv, LogErrors = "TF_CPP_MIN_LOG_LEVEL", "2"
)

// File is the name under which the CPU plugin is installed.
const File = "xla_cpu_pjrt.so"

// CUDAFile is the name of the CUDA plugin in its Python package.
const CUDAFile = "xla_cuda_plugin.so"

// ErrNone is wrapped by the error for a plugin that is nowhere.
var ErrNone = errors.New("no plugin is installed")

// Error is that of a plugin for CPUs that is missing, or not what was installed. To install it
// (again) would help.
type Error struct {
	// Reason is what is wrong, and Err is the error behind it, or nil.
	Reason string
	Err    error
}

// Error implements error.
func (e *Error) Error() string { return "plugin: " + e.Reason }

// Unwrap returns the error behind it.
func (e *Error) Unwrap() error { return e.Err }

// Kind reports whether installing the plugin would help: it is errorkind.Plugin, which this package
// does not import.
func (e *Error) Kind() string { return "plugin" }

// Dir returns the user's folder for the CPU plugin, in the user's cache directory ($XDG_CACHE_HOME
// or ~/.cache).
func Dir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("plugin: %w", err)
	}
	return filepath.Join(cache, "headwater", "xla"), nil
}

// Find returns the absolute path of the CPU plugin: $HEADWATER_XLA; beside the running program
// (../xla); in .cache/xla of the working directory and its parents, where make setup puts it, if
// nobody else can write there; in [Dir].
func Find() (string, error) {
	if path := os.Getenv(Env); path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("plugin: %s: %w", Env, err)
		}
		return filepath.Abs(path)
	}
	for _, path := range candidates() {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", &Error{
		Reason: fmt.Sprintf("%v for XLA on CPUs: install one, or set %s to the path of one",
			ErrNone, Env),
		Err: ErrNone,
	}
}

// candidates are the places where the CPU plugin may be.
func candidates() []string {
	var paths []string
	if program, err := os.Executable(); err == nil {
		paths = append(paths, filepath.Join(filepath.Dir(filepath.Dir(program)), "xla", File))
	}
	if dir, err := os.Getwd(); err == nil {
		for ; ; dir = filepath.Dir(dir) {
			if path := filepath.Join(dir, ".cache", "xla", File); owned(path) &&
				owned(filepath.Dir(path)) {
				paths = append(paths, path)
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	if dir, err := Dir(); err == nil {
		paths = append(paths, filepath.Join(dir, File))
	}
	return paths
}

// FindCUDA returns the absolute path of the CUDA plugin: $HEADWATER_CUDA, else that of JAX's Python
// package in the active environment ($VIRTUAL_ENV, $CONDA_PREFIX), beside the python3 of PATH, or
// among the system's and the user's packages. Where one folder has several, it is that of the
// highest CUDA version.
func FindCUDA() (string, error) {
	if path := os.Getenv(CUDAEnv); path != "" {
		info, err := os.Stat(path)
		if err != nil {
			return "", fmt.Errorf("plugin: %s: %w", CUDAEnv, err)
		}
		if !info.IsDir() {
			return filepath.Abs(path)
		}
		if found := cudaIn(path); found != "" {
			return filepath.Abs(found)
		}
		return "", fmt.Errorf("plugin: %s: %s has no jax_plugins/xla_cuda*/%s", CUDAEnv, path,
			CUDAFile)
	}
	for _, folder := range sitePackages() {
		if found := cudaIn(folder); found != "" {
			return found, nil
		}
	}
	return "", fmt.Errorf("plugin: %w for CUDA: pip install \"jax[cuda13]\" brings one, or set "+
		"%s to the path of %s or of the site-packages that hold it",
		ErrNone, CUDAEnv, CUDAFile)
}

// cudaIn returns the CUDA plugin in a folder of Python packages, or nothing.
func cudaIn(folder string) string {
	found, err := filepath.Glob(filepath.Join(escapeGlob(folder), "jax_plugins", "xla_cuda*",
		CUDAFile))
	if err != nil || found == nil {
		return ""
	}
	slices.Sort(found) // xla_cuda12, xla_cuda13
	return found[len(found)-1]
}

// escapeGlob keeps characters of a folder's name from being a pattern.
func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// sitePackages are the folders where Python packages may be, the active environment first.
func sitePackages() []string {
	var prefixes []string
	for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if prefix := os.Getenv(name); prefix != "" {
			prefixes = append(prefixes, prefix)
		}
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		program := filepath.Join(dir, "python3")
		if _, err := os.Stat(program); err != nil || !filepath.IsAbs(program) {
			continue
		}
		prefixes = append(prefixes, filepath.Dir(dir))
		if real, err := filepath.EvalSymlinks(program); err == nil {
			prefixes = append(prefixes, filepath.Dir(filepath.Dir(real)))
		}
		break
	}
	if home, err := os.UserHomeDir(); err == nil {
		prefixes = append(prefixes, filepath.Join(home, ".local"))
	}
	prefixes = append(prefixes, "/usr/local", "/usr")
	var folders []string
	for _, prefix := range prefixes {
		for _, pattern := range []string{
			"lib/python3*/site-packages",
			"lib/python3*/dist-packages",
		} {
			found, err := filepath.Glob(filepath.Join(escapeGlob(prefix), pattern))
			if err == nil {
				slices.Reverse(found)
				folders = append(folders, found...)
			}
		}
	}
	return folders
}

// IsCUDA reports whether the XLA library takes a plugin for one of CUDA: it goes by its path.
func IsCUDA(path string) bool {
	upper := strings.ToUpper(path)
	return strings.Contains(upper, "CUDA") || strings.Contains(upper, "NVIDIA")
}

// Check returns an error if a file is not a PJRT plugin for this machine. Loading one that is not
// can end the program.
func Check(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("plugin: %w", err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("plugin: %s is not a file", path)
	}
	f, err := elf.Open(path)
	var format *elf.FormatError
	if errors.As(err, &format) {
		return fmt.Errorf("plugin: %s is no shared library (%d bytes): %w", path, info.Size(), err)
	}
	if err != nil {
		return fmt.Errorf("plugin: %s is no readable shared library (%d bytes): %w", path,
			info.Size(), err)
	}
	defer f.Close()
	if f.Type != elf.ET_DYN || f.Machine != elf.EM_X86_64 {
		return fmt.Errorf("plugin: %s is a %v for %v, want a shared library for x86-64", path,
			f.Type, f.Machine)
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return fmt.Errorf("plugin: %s: %w", path, err)
	}
	if !slices.ContainsFunc(symbols,
		func(s elf.Symbol) bool { return s.Name == "GetPjrtApi" && s.Section != elf.SHN_UNDEF }) {
		return fmt.Errorf("plugin: %s is a shared library but no PJRT plugin: it has "+
			"no function GetPjrtApi", path)
	}
	return truncated(f, path, info.Size())
}

// truncated returns an error if a library's file ends before its sections do.
func truncated(f *elf.File, path string, size int64) error {
	for _, s := range f.Sections {
		if s.Type != elf.SHT_NOBITS && s.Offset+s.FileSize > uint64(size) {
			return fmt.Errorf("plugin: %s is cut short: it has %d bytes, section %s ends at %d",
				path, size, s.Name, s.Offset+s.FileSize)
		}
	}
	return nil
}

// devices are the files by which a driver shows a GPU.
var devices = []string{"/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg"}

// HasGPU reports whether this machine shows an NVIDIA GPU to this process.
func HasGPU() bool {
	for _, device := range devices {
		if _, err := os.Stat(device); !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}

// CUDASettings returns the environment variables, as NAME=value, that the CUDA plugin needs and
// that this process lacks: where the CUDA libraries of the Python packages around it are, and that
// the plugin logs errors only. The loader reads LD_LIBRARY_PATH once, when a program starts, so a
// program that lacks one has to be started again with it.
func CUDASettings(plugin string) []string {
	// plugin is PACKAGES/jax_plugins/xla_cuda13/xla_cuda_plugin.so.
	root := filepath.Dir(filepath.Dir(filepath.Dir(plugin)))
	libraries, _ := filepath.Glob(filepath.Join(escapeGlob(root), "nvidia", "*", "lib"))
	var settings []string
	have := filepath.SplitList(os.Getenv("LD_LIBRARY_PATH"))
	missing := slices.DeleteFunc(slices.Clone(libraries),
		func(dir string) bool { return slices.Contains(have, dir) })
	if len(missing) > 0 {
		settings = append(settings, "LD_LIBRARY_PATH="+strings.Join(append(missing, have...), ":"))
	}
	flags := os.Getenv("XLA_FLAGS")
	if data := dataDir(root); data != "" && !strings.Contains(flags, "xla_gpu_cuda_data_dir") {
		settings = append(settings,
			"XLA_FLAGS="+strings.TrimSpace(flags+" --xla_gpu_cuda_data_dir="+data))
	}
	for _, setting := range [][2]string{
		{"GOPJRT_CUDA_CHECKS", "0"}, // the checks expect another layout of folders
		{LogEnv, LogErrors},
	} {
		if os.Getenv(setting[0]) == "" {
			settings = append(settings, setting[0]+"="+setting[1])
		}
	}
	return settings
}

// dataDir returns the folder that holds the compiler's library (nvvm), or nothing.
func dataDir(root string) string {
	for _, pattern := range []string{"cu1*", "cuda_nvcc"} {
		found, err := filepath.Glob(filepath.Join(escapeGlob(root), "nvidia", pattern))
		if err == nil && found != nil {
			return found[len(found)-1]
		}
	}
	return ""
}
