package checkpoint

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/internal/testhelp"
)

// file puts a header and data together as the format says, without the code under test.
func file(header string, data ...byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

func mustBytes(t *testing.T, b []byte) *File {
	t.Helper()
	f, err := FromBytes("hand.safetensors", b)
	must(t, err)
	return f
}

func TestReadByHand(t *testing.T) {
	const header = `{"__metadata__":{"format":"pt"},` +
		`"w":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},` +
		`"ids":{"data_offsets":[8,12],"shape":[],"dtype":"I32"},` +
		`"h":{"dtype":"F16","shape":[2],"data_offsets":[12,16]},` +
		`"b":{"dtype":"BF16","shape":[1],"data_offsets":[16,18]},` +
		`"d":{"dtype":"F64","shape":[1],"data_offsets":[18,26]},` +
		`"long":{"dtype":"I64","shape":[1],"data_offsets":[26,34]},` +
		`"empty":{"dtype":"F32","shape":[0,9223372036854775807],"data_offsets":[8,8]}}   `
	f := mustBytes(t, file(header,
		0, 0, 0x80, 0x3f, 0, 0, 0x20, 0xc0, // 1, −2.5
		0xfe, 0xff, 0xff, 0xff, // −2
		0, 0x3c, 1, 0, // 1, 2^-24
		0x40, 0x40, // 3
		0x9a, 0x99, 0x99, 0x99, 0x99, 0x99, 0xb9, 0x3f, // 0.1
		0, 0, 0, 0, 1, 0, 0, 0, // 2^32
	))
	want := []string{"b", "d", "empty", "h", "ids", "long", "w"}
	if diff := cmp.Diff(want, f.Names()); diff != "" {
		t.Errorf("Names (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"format": "pt"}, f.Metadata()); diff != "" {
		t.Errorf("Metadata (-want +got):\n%s", diff)
	}
	floats := map[string][]float32{
		"w": {1, -2.5}, "h": {1, float32(math.Ldexp(1, -24))}, "b": {3}, "d": {0.1}, "empty": {},
	}
	for name, want := range floats {
		got, err := f.Float32(name)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("Float32(%q): error %v (-want +got):\n%s", name, err, diff)
		}
	}
	if got, err := f.Float64("d"); err != nil || got[0] != 0.1 {
		t.Errorf("Float64(d) = %v, %v, want 0.1", got, err)
	}
	if got, err := f.Float64("w"); err != nil || got[1] != -2.5 {
		t.Errorf("Float64(w) = %v, %v, want [1 -2.5]", got, err)
	}
	if got, err := f.Int32("ids"); err != nil || got[0] != -2 {
		t.Errorf("Int32(ids) = %v, %v, want -2", got, err)
	}
	if got, err := f.Int64("ids"); err != nil || got[0] != -2 {
		t.Errorf("Int64(ids) = %v, %v, want -2", got, err)
	}
	if got, err := f.Int64("long"); err != nil || got[0] != 1<<32 {
		t.Errorf("Int64(long) = %v, %v, want 2^32", got, err)
	}
	if shape, err := f.Shape("w"); err != nil || !cmp.Equal(shape, []int{1, 2}) {
		t.Errorf("Shape(w) = %v, %v, want [1 2]", shape, err)
	}
	if dtype, err := f.DType("b"); err != nil || dtype != BF16 {
		t.Errorf("DType(b) = %v, %v, want BF16", dtype, err)
	}
	if f.Has("x") || !f.Has("w") {
		t.Errorf("Has(x), Has(w) = %v, %v, want false, true", f.Has("x"), f.Has("w"))
	}
}

func TestReadValuesRefuses(t *testing.T) {
	f := mustBytes(t, file(`{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},`+
		`"m":{"dtype":"BOOL","shape":[1],"data_offsets":[4,5]}}`,
		0, 0, 0, 0, 1))
	read := map[string]func() error{
		`no tensor "x" among its 2`: func() error { _, err := f.Float32("x"); return err },
		`"m" is BOOL, not a float`:  func() error { _, err := f.Float64("m"); return err },
		`"w" is F32, not I32 or`:    func() error { _, err := f.Int64("w"); return err },
		`"w" is F32, not I32`:       func() error { _, err := f.Int32("w"); return err },
		`no tensor "s"`:             func() error { _, err := f.Shape("s"); return err },
		`no tensor "t"`:             func() error { _, err := f.DType("t"); return err },
	}
	for want, call := range read {
		if err := call(); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "hand.safetensors") {
			t.Errorf("error %v, want one with the file and %q", err, want)
		}
	}
}

// recorded are the cases of testdata/refusals.json.
type recorded struct {
	// Headers are a name, a header, how many zeros follow it, and what the error says. Indexes are
	// a name, a model.safetensors.index.json, and what the error says.
	Headers [][4]any
	Indexes [][3]string
}

// recordedRefusals reads testdata/refusals.json.
func recordedRefusals(t testing.TB) (r recorded) {
	t.Helper()
	data, err := os.ReadFile("testdata/refusals.json")
	must(t, err)
	must(t, json.Unmarshal(data, &r))
	return r
}

// refusal is a malformed file and what the error says.
type refusal struct {
	name string
	b    []byte
	want string
}

// refusals returns malformed files; TestRefusals reads them and FuzzFromBytes starts from them.
func refusals(t testing.TB) []refusal {
	all := []refusal{
		{"empty file", nil, "truncated: 0 bytes"},
		{"only a length", []byte{2, 0, 0, 0}, "truncated: 4 bytes"},
		{"header longer than the file", binary.LittleEndian.AppendUint64(nil, 40), "header of 40 bytes is longer than the file"},
		{"header length absurd", binary.LittleEndian.AppendUint64(nil, 1<<63), "header of 9223372036854775808 bytes"},
		{"Git LFS pointer", []byte("version https://git-lfs.github.com/spec/v1\n"), "git lfs pull"},
		{
			"file of torch.save", []byte("PK\x03\x04\x00\x00\x08\x08\x00\x00\x00\x00"),
			"this is a ZIP archive, as torch.save and numpy.savez write it, not safetensors",
		},
		{"pickle", []byte("\x80\x04\x95\x10\x00\x00\x00\x00\x00}."), "this is a pickle of Python, not"},
		{"NumPy", []byte("\x93NUMPY\x01\x00v\x00{"), "this is an array of NumPy, not safetensors"},
		{"begins like a pickle", []byte("\x80\x02\x00\x00\x00\x00\x00\x00" + strings.Repeat(" ", 0x280)), "not valid JSON"},
		{"not UTF-8", file("{\"\xff\":1}"), "not valid UTF-8"},
	}
	for _, c := range recordedRefusals(t).Headers {
		zeros := make([]byte, int(c[2].(float64)))
		all = append(all, refusal{c[0].(string), file(c[1].(string), zeros...), c[3].(string)})
	}
	return all
}

func TestRefusals(t *testing.T) {
	for _, c := range refusals(t) {
		t.Run(c.name, func(t *testing.T) {
			_, err := FromBytes("bad.safetensors", c.b)
			if err == nil {
				t.Fatal("no error")
			}
			if !strings.HasPrefix(err.Error(), "checkpoint: bad.safetensors: ") ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("error %q, want one with %q", err, c.want)
			}
		})
	}
}

func TestHeaderLimit(t *testing.T) {
	// A sparse file: long enough for the header that it claims, so only the limit can refuse it.
	path := filepath.Join(t.TempDir(), "long.safetensors")
	must(t, os.WriteFile(path, binary.LittleEndian.AppendUint64(nil, maxHeader+1),
		0o600))
	if err := os.Truncate(path, 2*maxHeader); err != nil {
		t.Skip("no sparse files here:", err)
	}
	_, err := Open(path)
	if err == nil || !strings.Contains(err.Error(),
		"header of 100000001 bytes, the limit is 100000000") {
		t.Errorf("error %v, want the limit of the header", err)
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.safetensors")
	one := file(`{"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 0)
	must(t, os.WriteFile(path, one, 0o600))
	f, err := Open(path)
	must(t, err)
	if f.Name() != path {
		t.Errorf("Name() = %q, want %q", f.Name(), path)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("Open(directory): error %v, want that it is not a regular file", err)
	}
	if _, err := Open(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open(missing): error %v, want fs.ErrNotExist", err)
	}
}

// A file that is cut while it is open must not become zeros.
func TestReadAfterTruncation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.safetensors")
	must(t, WriteFile(path, []Tensor{{"w", []int{100000}, make([]float32, 100000)}},
		nil))
	f, err := Open(path)
	must(t, err)
	defer f.Close()
	must(t, os.Truncate(path, 200000))
	read := map[string]func() error{
		"values": func() error { _, err := f.Float32("w"); return err },
		// The file is cut within a page: the rest of that page reads as zeros.
		"last page": func() error { return f.Float32At(make([]float32, 10), "w", (200000-72)/4) },
		"file that is read": func() error {
			disk, err := os.Open(path)
			must(t, err)
			defer disk.Close()
			s := readable{r: disk, Closer: disk}
			return s.each(0, 400072, chunk, func([]byte) error { return nil })
		},
	}
	for name, call := range read {
		if err := call(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: error %v, want io.ErrUnexpectedEOF", name, err)
		}
	}
}

func FuzzFromBytes(f *testing.F) {
	for _, c := range refusals(f) {
		f.Add(c.b)
	}
	f.Add(file(`{"w":{"dtype":"F16","shape":[2,1],"data_offsets":[0,4]},"__metadata__":{"a":"b"}}`,
		1, 2, 3, 4))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return
		}
		file, err := FromBytes("fuzz", b)
		if err != nil {
			return
		}
		total := 0
		for _, name := range file.Names() {
			shape, err := file.Shape(name)
			must(t, err)
			dtype, err := file.DType(name)
			must(t, err)
			count := 1
			for _, n := range shape {
				count *= n
			}
			total += count * dtypeSizes[dtype]
			v, err := file.Float64(name)
			if err == nil && len(v) != count {
				t.Errorf("%q of shape %v has %d values", name, shape, len(v))
			}
		}
		if start := 8 + int(binary.LittleEndian.Uint64(b)); start+total != len(b) {
			t.Errorf("header ends at %d, tensors have %d bytes, the file %d", start, total, len(b))
		}
	})
}

// TestSharedTensor: a tensor that was left out because it is the same as another has the name that
// the metadata give it. Metadata that name no tensor, or one that is there, change nothing.
func TestSharedTensor(t *testing.T) {
	var b bytes.Buffer
	tensors := []Tensor{{"a", []int{2}, []float32{1, 2}}, {"c", []int{1}, []float32{3}}}
	metadata := map[string]string{"b": "a", "format": "pt", "c": "a", "d": "b"}
	must(t, Write(&b, tensors, metadata))
	f, err := openFS(fstest.MapFS{"m": {Data: b.Bytes()}}, "m", "m")
	must(t, err)
	defer f.Close()
	if names := f.Names(); !slices.Equal(names, []string{"a", "b", "c", "d"}) {
		t.Errorf("names %q", names)
	}
	for name, want := range map[string][]float32{"a": {1, 2}, "b": {1, 2}, "c": {3}, "d": {1, 2}} {
		got := make([]float32, len(want))
		if err := f.Float32At(got, name, 0); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s is %v, want %v; error %v", name, got, want, err)
		}
	}
}

var must = testhelp.Must // ends a test at an error
