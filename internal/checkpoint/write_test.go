package checkpoint

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWriteBytes(t *testing.T) {
	var b bytes.Buffer
	err := Write(&b, []Tensor{
		{"b", []int{1}, []Float16{0x3c00}},
		{"z", nil, []float32{1}},
		{"a", []int{1, 1}, []float32{-2}},
	}, map[string]string{"y": "2", "x": "1"})
	must(t, err)
	// Four-byte elements before two-byte ones, then by name; spaces pad the header to a multiple of
	// 8 bytes.
	const header = `{"__metadata__":{"x":"1","y":"2"},` +
		`"a":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]},` +
		`"z":{"dtype":"F32","shape":[],"data_offsets":[4,8]},` +
		`"b":{"dtype":"F16","shape":[1],"data_offsets":[8,10]}}`
	want := file(header+strings.Repeat(" ", (8-len(header)%8)%8), 0, 0, 0, 0xc0, 0, 0, 0x80, 0x3f,
		0, 0x3c)
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("Write (-want +got):\n%s", diff)
	}
}

func TestWriteReadsBack(t *testing.T) {
	nan := math.Float32frombits(0x7fc12345)
	tensors := []Tensor{
		{"f32", []int{2, 3}, []float32{1, -0.5, nan, float32(math.Inf(1)), 0, 3e-45}},
		{"f64", []int{2}, []float64{0.1, math.Inf(-1)}},
		{"bf16", []int{1}, []BFloat16{0x4040}},
		{"i32", []int{3}, []int32{-1, math.MaxInt32, math.MinInt32}},
		{"i64", []int{1}, []int64{math.MinInt64}},
		{"none", []int{3, 0}, []float32{}},
		{"héllo <\"\\\n", nil, []float32{7}},
	}
	var b, again bytes.Buffer
	must(t, errors.Join(Write(&b, tensors, nil), Write(&again, tensors, nil)))
	if !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Error("two writes differ")
	}
	if n := b.Len(); n%8 != 2 { // all data but two bytes of bf16 is a multiple of 8
		t.Errorf("%d bytes; the data does not start at a multiple of 8", n)
	}
	f := mustBytes(t, b.Bytes())
	if len(f.Names()) != len(tensors) || len(f.Metadata()) != 0 {
		t.Errorf("Names() = %q, Metadata() = %v, want %d names and nothing", f.Names(),
			f.Metadata(), len(tensors))
	}
	for _, w := range tensors {
		var got any
		var err error
		switch w.Data.(type) {
		case []float64:
			got, err = f.Float64(w.Name)
		case []int32:
			got, err = f.Int32(w.Name)
		case []int64:
			got, err = f.Int64(w.Name)
		case []BFloat16:
			got, err = f.Float32(w.Name)
			w.Data = []float32{3}
		default:
			got, err = f.Float32(w.Name)
		}
		sameBits := cmp.Comparer(func(x, y float32) bool {
			return math.Float32bits(x) == math.Float32bits(y)
		})
		if diff := cmp.Diff(w.Data, got, sameBits); err != nil || diff != "" {
			t.Errorf("%q: error %v (-want +got):\n%s", w.Name, err, diff)
		}
	}
}

func TestWriteLong(t *testing.T) {
	// Longer than one chunk, and not a multiple of it.
	long := make([]float32, chunk/4+3)
	for i := range long {
		long[i] = float32(i)
	}
	var b bytes.Buffer
	must(t, Write(&b, []Tensor{{"w", []int{len(long)}, long}}, nil))
	got, err := mustBytes(t, b.Bytes()).Float32("w")
	if diff := cmp.Diff(long, got); err != nil || diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

func TestWriteRefuses(t *testing.T) {
	cases := []struct {
		name     string
		tensors  []Tensor
		metadata map[string]string
		want     string
	}{
		{"no name", []Tensor{{"", nil, []float32{1}}}, nil, `tensor "": a name must be UTF-8, not empty`},
		{"reserved name", []Tensor{{"__metadata__", nil, []float32{1}}}, nil, "not __metadata__"},
		{"name not UTF-8", []Tensor{{"\xff", nil, []float32{1}}}, nil, `tensor "\xff"`},
		{"name twice", []Tensor{{"a", nil, []float32{1}}, {"a", nil, []int32{1}}}, nil, `tensor "a" comes twice`},
		{"too many axes", []Tensor{{"a", make([]int, 17), []float32{}}}, nil, "17 axes, the limit is 16"},
		{"wrong data", []Tensor{{"a", nil, 1.0}}, nil, "data of type float64 cannot be stored"},
		{"shape too large", []Tensor{{"a", []int{2}, []float32{1}}}, nil, "shape [2] has 2 elements, data has 1"},
		{"negative", []Tensor{{"a", []int{-1, -1}, []float32{1}}}, nil, "shape [-1 -1] is negative"},
		{"overflow", []Tensor{{"a", []int{math.MaxInt, 2}, []float32{1}}}, nil, "too large"},
		{"metadata not UTF-8", nil, map[string]string{"k": "\xff"}, `metadata "k"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			err := Write(&b, c.tensors, c.metadata)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
			if b.Len() > 0 {
				t.Errorf("%d bytes were written", b.Len())
			}
		})
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteReportsTheWriter(t *testing.T) {
	for _, n := range []int{1, chunk} { // found when flushing, and before
		err := Write(fullDisk{}, []Tensor{{"w", []int{n}, make([]float64, n)}}, nil)
		if err == nil || !strings.Contains(err.Error(), "disk full") {
			t.Errorf("%d elements: error %v, want disk full", n, err)
		}
	}
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.safetensors")
	link := filepath.Join(dir, "link.safetensors")
	write := func(path string, v float32) error {
		return WriteFile(path, []Tensor{{"w", nil, []float32{v}}}, nil)
	}
	must(t, write(path, 1))
	if err := os.Symlink(path, link); err != nil {
		t.Skip("no links here:", err)
	}
	must(t, write(link, 2))
	if err := WriteFile(path, []Tensor{{"w", []int{2}, []float32{3}}}, nil); err == nil {
		t.Error("a wrong shape is no error")
	}
	fails := func(w io.Writer) error {
		_, err := io.WriteString(w, "half")
		return errors.Join(err, errors.New("stop"))
	}
	if err := replaceFile(path, fails); err == nil || !strings.Contains(err.Error(), "stop") {
		t.Errorf("replaceFile: error %v, want stop", err)
	}
	if err := write(dir, 4); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("WriteFile(directory): error %v, want that it is not a regular file", err)
	}
	if err := write(filepath.Join(dir, "none", "x"), 4); err == nil {
		t.Error("WriteFile in a missing directory: no error")
	}
	f, err := Open(path)
	must(t, err)
	defer f.Close()
	if got, err := f.Float32("w"); err != nil || got[0] != 2 {
		t.Errorf("file holds %v, %v, want what was written through the link, 2", got, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("directory holds %v, %v, want the file and its link only", entries, err)
	}
}
