package checkpoint

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// stored has the same four numbers in every floating-point type. All of them are exact in each.
var stored = []Tensor{
	{"f64", []int{2, 2}, []float64{1, -2.5, 0, 384}},
	{"f32", []int{2, 2}, []float32{1, -2.5, 0, 384}},
	{"f16", []int{2, 2}, []Float16{0x3c00, 0xc100, 0, 0x5e00}},
	{"bf16", []int{2, 2}, []BFloat16{0x3f80, 0xc020, 0, 0x43c0}},
}

// onDisk writes a file and opens it.
func onDisk(t *testing.T, tensors []Tensor) *File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.safetensors")
	must(t, WriteFile(path, tensors, nil))
	f, err := Open(path)
	must(t, err)
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// Every type is read as every type, whole and from the middle.
func TestReadAsEveryType(t *testing.T) {
	f := onDisk(t, stored)
	for _, from := range stored {
		f32, err := f.Float32(from.Name)
		if diff := cmp.Diff([]float32{1, -2.5, 0, 384}, f32); err != nil || diff != "" {
			t.Errorf("Float32(%s): error %v (-want +got):\n%s", from.Name, err, diff)
		}
		f64, err := f.Float64(from.Name)
		if diff := cmp.Diff([]float64{1, -2.5, 0, 384}, f64); err != nil || diff != "" {
			t.Errorf("Float64(%s): error %v (-want +got):\n%s", from.Name, err, diff)
		}
		part := make([]float32, 2)
		if err := f.Float32At(part, from.Name, 1); err != nil ||
			!cmp.Equal(part, []float32{-2.5, 0}) {
			t.Errorf("elements 1 and 2 of %s: %v, error %v", from.Name, part, err)
		}
	}
}

func TestReadAtRefuses(t *testing.T) {
	f := onDisk(t, append([]Tensor{{"ids", []int{1}, []int32{1}}}, stored...))
	cases := []struct {
		name string
		err  error
		want string
	}{
		{"past the end", f.Float32At(make([]float32, 3), "f32", 2), `tensor "f32" has 4 elements, not 3 from 2 on`},
		{"before the start", f.Float32At(nil, "f32", -1), "not 0 from -1 on"},
		{"start past the end", f.Float32At(nil, "f32", 5), "not 0 from 5 on"},
		{"start overflows", f.Float32At(make([]float32, 1), "f32", math.MaxInt), "4 elements, not 1 from"},
		{"nothing at the end", f.Float32At(nil, "f32", 4), ""},
		{"not floats", f.Float32At(make([]float32, 1), "ids", 0), `"ids" is I32, not a floating-point type`},
		{"missing", f.Float32At(nil, "x", 0), `no tensor "x"`},
	}
	for _, c := range cases {
		if c.want == "" && c.err != nil || c.want != "" &&
			(c.err == nil || !strings.Contains(c.err.Error(), c.want)) {
			t.Errorf("%s: error %v, want %q", c.name, c.err, c.want)
		}
	}
}

// The bytes are those of the file, whether it is mapped, in memory, or read.
func TestReadFromEverySource(t *testing.T) {
	disk := onDisk(t, append([]Tensor{{"empty", []int{0}, []float32{}}}, stored...))
	b, err := os.ReadFile(disk.Name())
	must(t, err)
	archive, err := openFS(mapFS(map[string]string{"x": string(b)}), "x", "x")
	must(t, err)
	for source, f := range map[string]*File{
		"disk": disk, "memory": mustBytes(t, b),
		"archive": archive,
	} {
		for name, want := range map[string][]float32{
			"empty": {}, "f16": {1, -2.5, 0, 384},
			"f64": {1, -2.5, 0, 384},
		} {
			if got, err := f.Float32(name); err != nil || !cmp.Equal(want, got) {
				t.Errorf("%s: %s = %v, %v, want %v", source, name, got, err, want)
			}
		}
	}
}

// A panic of the caller's function is not mistaken for a fault of the file.
func TestReadLetsPanicsPass(t *testing.T) {
	f := onDisk(t, stored)
	for name, use := range map[string]func([]byte) error{
		"own":            func([]byte) error { panic("mine") },
		"nil pointer":    func([]byte) error { var p *int; *p = 1; return nil },
		"runtime error ": func(b []byte) error { _ = b[len(b)]; return nil },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic came through", name)
				}
			}()
			t.Errorf("%s: each returned %v", name, f.parts[0].storage.each(0, 8, 8, use))
		}()
	}
	if _, err := f.Float32("f32"); err != nil {
		t.Errorf("after the panics: %v", err)
	}
}

func TestReadAfterClose(t *testing.T) {
	f := onDisk(t, stored)
	must(t, f.Close())
	if _, err := f.Float32("f32"); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Float32 after Close: error %v, want fs.ErrClosed", err)
	}
}

// Close waits for readers, and readers do not disturb each other when pages are given back.
func TestReadConcurrently(t *testing.T) {
	long := make([]float32, 3*chunk/4+5)
	for i := range long {
		long[i] = float32(i)
	}
	f := onDisk(t, []Tensor{{"w", []int{len(long)}, long}})
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			got, err := f.Float32("w")
			if err == nil && !cmp.Equal(long, got) {
				t.Error("other values")
			}
			if err != nil && !errors.Is(err, fs.ErrClosed) {
				t.Error(err)
			}
		})
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	wait.Wait()
}

func BenchmarkRead(b *testing.B) {
	const n = 16 << 20
	path := filepath.Join(b.TempDir(), "x.safetensors")
	err := WriteFile(path,
		[]Tensor{
			{"f32", []int{n}, make([]float32, n)},
			{"bf16", []int{n}, make([]BFloat16, n)},
		}, nil)
	must(b, err)
	f, err := Open(path)
	must(b, err)
	defer f.Close()
	dst := make([]float32, n)
	for _, name := range []string{"f32", "bf16"} {
		dtype, err := f.DType(name)
		must(b, err)
		bytes := int64(n * dtypeSizes[dtype])
		b.Run("from="+name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(bytes)
			for b.Loop() {
				must(b, f.Float32At(dst, name, 0))
			}
		})
	}
}

// TestFloat64At reads parts of every floating-point type in float64, exactly.
func TestFloat64At(t *testing.T) {
	f := onDisk(t, stored)
	for _, tensor := range stored {
		whole, err := f.Float64(tensor.Name)
		must(t, err)
		for first := range whole {
			part := make([]float64, len(whole)-first)
			must(t, f.Float64At(part, tensor.Name, first))
			if !slices.Equal(part, whole[first:]) {
				t.Errorf("Float64At(%s, %d) = %v, want %v", tensor.Name, first, part, whole[first:])
			}
		}
		err = f.Float64At(make([]float64, 2), tensor.Name, len(whole)-1)
		if err == nil || !strings.Contains(err.Error(), "elements, not 2 from") {
			t.Errorf("Float64At(%s) beyond the end: error %v", tensor.Name, err)
		}
	}
}
