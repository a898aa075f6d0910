package xlaplugin

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// library returns a shared library for a machine with one dynamic symbol: as much of one as Check
// reads.
func library(t *testing.T, machine elf.Machine, symbol string) []byte {
	t.Helper()
	names, symbols := "\x00"+symbol+"\x00", make([]elf.Sym64, 2)
	symbols[1] = elf.Sym64{Name: 1, Info: uint8(elf.STB_GLOBAL)<<4 | uint8(elf.STT_FUNC), Shndx: 1}
	sectionNames := "\x00.dynsym\x00.dynstr\x00.shstrtab\x00"
	const head, symbolSize = 64, 24
	header := elf.Header64{
		Ident: [16]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_DYN), Machine: uint16(machine), Version: 1, Ehsize: head,
		Shentsize: 64, Shnum: 4, Shstrndx: 3,
	}
	at := []int{head, head + 2*symbolSize, head + 2*symbolSize + len(names)}
	header.Shoff = uint64(at[2] + len(sectionNames))
	sections := []elf.Section64{
		{},
		{Name: 1, Type: uint32(elf.SHT_DYNSYM), Off: uint64(at[0]), Size: 2 * symbolSize, Link: 2, Entsize: symbolSize},
		{Name: 9, Type: uint32(elf.SHT_STRTAB), Off: uint64(at[1]), Size: uint64(len(names))},
		{Name: 17, Type: uint32(elf.SHT_STRTAB), Off: uint64(at[2]), Size: uint64(len(sectionNames))},
	}
	var b bytes.Buffer
	for _, part := range []any{header, symbols, []byte(names), []byte(sectionNames), sections} {
		must(t, binary.Write(&b, binary.LittleEndian, part))
	}
	return b.Bytes()
}

// fake returns a plugin that passes Check and does nothing.
func fake(t *testing.T) []byte { return library(t, elf.EM_X86_64, "GetPjrtApi") }

func write(t *testing.T, path string, data []byte) string {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, data, 0o644))
	return path
}

// alone gives the test an environment in which no plugin is found, and returns its home.
func alone(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	for _, name := range []string{Env, CUDAEnv, "VIRTUAL_ENV", "CONDA_PREFIX", "LD_LIBRARY_PATH", "XLA_FLAGS", "GOPJRT_CUDA_CHECKS"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	t.Setenv("PATH", filepath.Join(home, "bin"))
	t.Chdir(home)
	return home
}

func TestCheck(t *testing.T) {
	good := fake(t)
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"plugin":           {good, ""},
		"empty":            {nil, "is no readable shared library (0 bytes)"},
		"text":             {[]byte("#!/bin/sh\necho a program of text\n"), "is no shared library"},
		"cut in the head":  {good[:40], "is no readable shared library (40 bytes)"},
		"cut at the end":   {good[:len(good)-1], "shared library"},
		"other machine":    {library(t, elf.EM_AARCH64, "GetPjrtApi"), "is a ET_DYN for EM_AARCH64, want a shared library for x86-64"},
		"other library":    {library(t, elf.EM_X86_64, "zlibVersion"), "it has no function GetPjrtApi"},
		"wheel not opened": {[]byte("PK\x03\x04 and so on, a wheel"), "is no shared library"},
	} {
		t.Run(name, func(t *testing.T) {
			checkError(t, Check(write(t, filepath.Join(t.TempDir(), "p.so"), c.data)), c.want)
		})
	}
	checkError(t, Check(t.TempDir()), "is not a file")
	checkError(t, Check("/nowhere/p.so"), "no such file")
}

// checkError compares an error with a part of its text, empty for none.
func checkError(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" && err != nil ||
		want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("error %v, want %q", err, want)
	}
}

func TestFind(t *testing.T) {
	home := alone(t)
	_, err := Find()
	if !errors.Is(err, ErrNone) || !errors.As(err, new(*Error)) ||
		!strings.Contains(err.Error(), Env) {
		t.Errorf("error %v, want one that says what helps", err)
	}
	cached := write(t, filepath.Join(home, "cache", "headwater", "xla", File), fake(t))
	checkFound(t, Find, cached)
	// A checkout wins over the cache, from any folder below it.
	checkout := write(t, filepath.Join(home, "src", ".cache", "xla", File), fake(t))
	below := filepath.Join(home, "src", "notebooks", "deep")
	must(t, os.MkdirAll(below, 0o755))
	t.Chdir(below)
	checkFound(t, Find, checkout)
	// Native code that someone else could have put there is not loaded.
	must(t, os.Chmod(filepath.Dir(checkout), 0o777))
	checkFound(t, Find, cached)
	named := write(t, filepath.Join(home, "named.so"), fake(t))
	t.Setenv(Env, named)
	checkFound(t, Find, named)
	t.Setenv(Env, "/nowhere.so")
	_, err = Find()
	checkError(t, err, "HEADWATER_XLA: stat /nowhere.so")
}

func checkFound(t *testing.T, find func() (string, error), want string) {
	t.Helper()
	if got, err := find(); err != nil || got != want {
		t.Errorf("found %s, %v; want %s", got, err, want)
	}
}

func TestFindCUDA(t *testing.T) {
	home := alone(t)
	in := func(prefix string, version string) string {
		return write(t, filepath.Join(home, prefix, "lib", "python3.12", "site-packages",
			"jax_plugins", "xla_cuda"+version, CUDAFile), fake(t))
	}
	write(t, filepath.Join(home, "bin", "python3"), nil)
	beside := in("", "12")
	checkFound(t, FindCUDA, beside)
	newer := in("", "13")
	checkFound(t, FindCUDA, newer)
	active := in("venv[1]", "12")
	t.Setenv("VIRTUAL_ENV", filepath.Join(home, "venv[1]"))
	checkFound(t, FindCUDA, active)
	t.Setenv(CUDAEnv, newer)
	checkFound(t, FindCUDA, newer)
	t.Setenv(CUDAEnv, filepath.Join(home, "lib", "python3.12", "site-packages"))
	checkFound(t, FindCUDA, newer)
	t.Setenv(CUDAEnv, home)
	_, err := FindCUDA()
	checkError(t, err, "has no jax_plugins/xla_cuda*/xla_cuda_plugin.so")
	t.Setenv(CUDAEnv, filepath.Join(home, "none"))
	_, err = FindCUDA()
	checkError(t, err, "HEADWATER_CUDA: stat")
}

// The recipe: libraries on LD_LIBRARY_PATH, the compiler's folder in XLA_FLAGS, and go-xla's own
// look for them off.
func TestCUDASettings(t *testing.T) {
	home := alone(t)
	packages := filepath.Join(home, "site-packages")
	path := write(t, filepath.Join(packages, "jax_plugins", "xla_cuda13", CUDAFile), nil)
	alone := []string{"GOPJRT_CUDA_CHECKS=0", "TF_CPP_MIN_LOG_LEVEL=2"}
	if diff := cmp.Diff(alone, CUDASettings(path)); diff != "" {
		t.Errorf("settings without libraries: want -, got +\n%s", diff)
	}
	for _, name := range []string{"cu13/lib/libcudart.so.13", "cudnn/lib/libcudnn.so.9", "cu13/nvvm/libdevice/x"} {
		write(t, filepath.Join(packages, "nvidia", name), nil)
	}
	t.Setenv("LD_LIBRARY_PATH", "/mine")
	t.Setenv("XLA_FLAGS", "--xla_dump_to=/tmp/x")
	want := []string{
		"LD_LIBRARY_PATH=" + packages + "/nvidia/cu13/lib:" + packages + "/nvidia/cudnn/lib:/mine",
		"XLA_FLAGS=--xla_dump_to=/tmp/x --xla_gpu_cuda_data_dir=" + packages + "/nvidia/cu13",
		"GOPJRT_CUDA_CHECKS=0",
		"TF_CPP_MIN_LOG_LEVEL=2",
	}
	got := CUDASettings(path)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings: want -, got +\n%s", diff)
	}
	if err := PrepareCUDA(path); err != nil || os.Getenv("LD_LIBRARY_PATH") != "/mine" {
		t.Errorf("PrepareCUDA: %v, LD_LIBRARY_PATH %s, which has no effect here",
			err, os.Getenv("LD_LIBRARY_PATH"))
	}
	for _, setting := range got {
		name, value, _ := strings.Cut(setting, "=")
		t.Setenv(name, value)
	}
	if got := CUDASettings(path); got != nil {
		t.Errorf("settings when all are set: %q", got)
	}
}

// The library goes by the path, so a plugin in the wrong place is refused before it is loaded with
// the options of the other kind.
func TestConflicts(t *testing.T) {
	dir := t.TempDir()
	cpu := write(t, filepath.Join(dir, "cpu.so"), fake(t))
	cuda := write(t, filepath.Join(dir, "cuda", "p.so"), fake(t))
	comma := write(t, filepath.Join(dir, "a,tf32=true", "p.so"), fake(t))
	checkError(t, CheckCUDA(cuda), "")
	checkError(t, CheckCUDA(cpu), "take it as backend xla:"+cpu)
	checkError(t, CheckCPU(cpu), "")
	checkError(t, CheckCPU(cuda), "take it as backend cuda:"+cuda)
	checkError(t, CheckCPU(comma), "has a comma in its path")
	t.Setenv(Env, comma)
	checkError(t, CheckCPU(comma), "does not allow (HEADWATER_XLA names it)")
	checkError(t, CheckCPU(cpu), "")
	t.Setenv(CUDAEnv, cpu)
	checkError(t, CheckCUDA(cpu), "(HEADWATER_CUDA names it)")
}

// An error about the plugin for CPUs has the kind that a program looks for, and the one behind it.
func TestErrorKind(t *testing.T) {
	for _, c := range []struct {
		err  *Error
		want string
	}{
		{&Error{Reason: "no plugin is installed", Err: ErrNone}, "plugin: no plugin is installed"},
		{&Error{Reason: "p.so has changed"}, "plugin: p.so has changed"},
	} {
		if c.err.Error() != c.want || c.err.Kind() != "plugin" ||
			errors.Is(c.err, ErrNone) != (c.err.Err != nil) {
			t.Errorf("%q of kind %q, want %q", c.err, c.err.Kind(), c.want)
		}
	}
	if err := hashError("00", InstallOptions{}); !errors.Is(err, ErrUnknownHash) {
		t.Errorf("a hash that is not known: %v", err)
	}
	if err := hashError("00", InstallOptions{SHA256: "11"}); errors.Is(err, ErrUnknownHash) {
		t.Errorf("a hash that is not the one asked for: %v", err)
	}
}
