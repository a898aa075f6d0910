package checkpoint

import (
	"bytes"
	"encoding/binary"
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

// one returns the header of a single tensor, for refusals that differ in one value.
func one(dtype, shape, offsets string) string {
	return `{"w":{"dtype":` + dtype + `,"shape":` + shape + `,"data_offsets":` + offsets + `}}`
}

// refusals are malformed files; TestRefusals reads them and FuzzFromBytes starts from them.
var refusals = []struct {
	name string
	b    []byte
	want string
}{
	{"empty file", nil, "truncated: 0 bytes"},
	{"only a length", []byte{2, 0, 0, 0}, "truncated: 4 bytes"},
	{
		"header longer than the file", binary.LittleEndian.AppendUint64(nil, 40),
		"header of 40 bytes is longer than the file",
	},
	{
		"header length absurd", binary.LittleEndian.AppendUint64(nil, 1<<63),
		"header of 9223372036854775808 bytes",
	},
	{"Git LFS pointer", []byte("version https://git-lfs.github.com/spec/v1\n"), "git lfs pull"},
	{
		"file of torch.save", []byte("PK\x03\x04\x00\x00\x08\x08\x00\x00\x00\x00"),
		"this is a ZIP archive, as torch.save and numpy.savez write it, not safetensors",
	},
	{"pickle", []byte("\x80\x04\x95\x10\x00\x00\x00\x00\x00}."), "this is a pickle of Python, not"},
	{"NumPy", []byte("\x93NUMPY\x01\x00v\x00{"), "this is an array of NumPy, not safetensors"},
	{
		"begins like a pickle",
		[]byte("\x80\x02\x00\x00\x00\x00\x00\x00" + strings.Repeat(" ", 0x280)), "not valid JSON",
	},
	{"not JSON", file(`{"w":`), "not valid JSON"},
	{"no header", file(``), "not valid JSON"},
	{"something after the header", file(`{} {}`), "not valid JSON"},
	{"not an object", file(`[1]`), "[1] is not an object"},
	{"null", file(`null`), "null is not an object"},
	{"not UTF-8", file("{\"\xff\":1}"), "not valid UTF-8"},
	{
		"tensor twice", file(`{"w":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},` +
			`"w":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}`),
		`key "w" comes twice`,
	},
	{
		"key twice", file(`{"w":{"dtype":"F32","dtype":"F64","shape":[0],"data_offsets":[0,0]}}`),
		`tensor "w": key "dtype" comes twice`,
	},
	{"metadata twice", file(`{"__metadata__":{},"__metadata__":{}}`), `"__metadata__" comes twice`},
	{"metadata not text", file(`{"__metadata__":{"a":1}}`), `__metadata__: "a": 1 is not a text`},
	{"entry not an object", file(`{"w":7}`), `tensor "w": 7 is not an object`},
	{
		"unknown key", file(`{"w":{"dtype":"F32","Shape":[0],"data_offsets":[0,0]}}`),
		`unknown key "Shape"`,
	},
	{
		"no shape", file(`{"w":{"dtype":"F32","data_offsets":[0,0]}}`),
		"needs dtype, shape and two data_offsets",
	},
	{"one offset", file(one(`"F32"`, `[0]`, `[0]`)), "needs dtype, shape and two data_offsets"},
	{"three offsets", file(one(`"F32"`, `[0]`, `[0,0,0]`)), "data_offsets: more than 2 numbers"},
	{
		"unknown dtype", file(one(`"Q4"`, `[0]`, `[0,0]`)),
		`dtype "Q4" is unknown, known are BF16, BOOL, C64,`,
	},
	{"dtype not text", file(one(`4`, `[0]`, `[0,0]`)), "dtype: 4 is not a text"},
	{
		"negative axis", file(one(`"F32"`, `[-1]`, `[0,0]`)),
		"shape: -1 is not a whole number from 0",
	},
	{"fraction", file(one(`"F32"`, `[1.5]`, `[0,6]`)), "shape: 1.5 is not a whole number from 0"},
	{
		"axis too large", file(one(`"F32"`, `[9223372036854775808]`, `[0,0]`)),
		"shape: 9223372036854775808 is not a whole number from 0",
	},
	{
		"axis not a number", file(one(`"F32"`, `["1"]`, `[0,4]`)),
		`shape: "1" is not a whole number from 0`,
	},
	{"shape not a list", file(one(`"F32"`, `1`, `[0,4]`)), "shape: 1 is not a list"},
	{
		"too many axes", file(one(`"F32"`, `[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]`, `[0,4]`), 0, 0, 0,
			0), "shape: more than 16 numbers",
	},
	{
		"product overflows to 0", file(one(`"F32"`, `[4294967296,4294967296]`, `[0,0]`)),
		"does not fill data_offsets [0,0]",
	},
	{
		"product overflows to 4",
		file(one(`"I8"`, `[6148914691236517205,12]`, `[0,4]`), 0, 0, 0, 0),
		"does not fill data_offsets [0,4]",
	},
	{
		"shape larger than offsets", file(one(`"F32"`, `[2]`, `[0,4]`), 0, 0, 0, 0),
		"shape [2] of F32 (4 bytes each)",
	},
	{
		"shape smaller than offsets", file(one(`"F32"`, `[1]`, `[0,8]`), 0, 0, 0, 0, 0, 0, 0, 0),
		"which span 8 bytes",
	},
	{
		"offsets backwards", file(one(`"F32"`, `[1]`, `[4,0]`), 0, 0, 0, 0),
		"data_offsets [4,0] run backwards",
	},
	{
		"past the end", file(one(`"F32"`, `[2]`, `[0,8]`), 0, 0, 0, 0),
		`tensor "w": data_offsets [0,8] run past the end of the data, 4 bytes`,
	},
	{
		"far past the end", file(one(`"U8"`, `[9223372036854775807]`, `[0,9223372036854775807]`)),
		"run past the end",
	},
	{
		"overlap", file(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},`+
			`"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}`, 0, 0, 0),
		`tensor "b": data_offsets [1,3] overlap another tensor, which ends at 2`,
	},
	{
		"same place", file(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},`+
			`"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}`, 0, 0),
		`tensor "b": data_offsets [0,2] overlap`,
	},
	{
		"hole", file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},`+
			`"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}}`, 0, 0, 0),
		`tensor "b": data_offsets [2,3] leave a hole from 1`,
	},
	{"hole at the start", file(one(`"U8"`, `[1]`, `[1,2]`), 0, 0), "leave a hole from 0"},
	{
		"rest", file(one(`"U8"`, `[1]`, `[0,1]`), 0, 0, 0),
		"2 bytes after tensor \"w\", the last, which ends at 1",
	},
}

func TestRefusals(t *testing.T) {
	for _, c := range refusals {
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
	must(t, os.WriteFile(path, file(one(`"U8"`, `[1]`, `[0,1]`), 0), 0o600))
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
	for _, c := range refusals {
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

// must ends a test at an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
