package checkpoint

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func shard(t *testing.T, metadata map[string]string, tensors ...Tensor) string {
	t.Helper()
	var b bytes.Buffer
	must(t, Write(&b, tensors, metadata))
	return b.String()
}

// sharded returns a checkpoint of two files: a.safetensors has w and extra, b.safetensors has v.
func sharded(t *testing.T) map[string]string {
	return map[string]string{
		"config.json":                  "{}",
		"model.safetensors.index.json": `{"metadata":{"total_size":12},"weight_map":{"w":"a.safetensors","v":"b.safetensors"}}`,
		"a.safetensors": shard(t, map[string]string{"format": "pt", "from": "a"},
			Tensor{"w", []int{1}, []float32{1}}, Tensor{"extra", nil, []int64{7}}),
		"b.safetensors": shard(t, map[string]string{"from": "b", "only": "b"}, Tensor{"v", []int{2}, []BFloat16{0x4040, 0x4080}}),
	}
}

func TestShards(t *testing.T) {
	files := sharded(t)
	disk := t.TempDir()
	for name, data := range files {
		must(t, os.WriteFile(filepath.Join(disk, name), []byte(data), 0o600))
	}
	for name, open := range map[string]func() (*Dir, error){
		"disk":    func() (*Dir, error) { return OpenDir(disk) },
		"archive": func() (*Dir, error) { return FromFS(noReaderAt{mapFS(files)}, "m") },
	} {
		t.Run(name, func(t *testing.T) {
			d, err := open()
			must(t, err)
			w := d.Weights
			if diff := cmp.Diff([]string{"extra", "v", "w"}, w.Names()); diff != "" {
				t.Errorf("Names (-want +got):\n%s", diff)
			}
			if !strings.HasSuffix(w.Name(), "/model.safetensors.index.json") {
				t.Errorf("Name() = %q, want the index", w.Name())
			}
			if diff := cmp.Diff(map[string]string{"format": "pt", "from": "a", "only": "b"},
				w.Metadata()); diff != "" {
				t.Errorf("Metadata (-want +got):\n%s", diff)
			}
			v, err := w.Float32("v")
			if err != nil || !cmp.Equal(v, []float32{3, 4}) {
				t.Errorf("v = %v, %v, want [3 4]", v, err)
			}
			if extra, err := w.Int64("extra"); err != nil || extra[0] != 7 {
				t.Errorf("extra = %v, %v, want 7", extra, err)
			}
			if _, err := w.Float32("extra"); err == nil ||
				!strings.Contains(err.Error(), "/a.safetensors: tensor \"extra\" is I64") {
				t.Errorf("error %v, want one that names the shard", err)
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
			if _, err := w.Float32("v"); name == "disk" && !errors.Is(err, fs.ErrClosed) {
				t.Errorf("after Close: error %v, want fs.ErrClosed", err)
			}
		})
	}
}

// The single file has precedence over the index, as in the reference implementation.
func TestSingleFileFirst(t *testing.T) {
	files := sharded(t)
	files["model.safetensors"] = shard(t, nil, Tensor{"single", nil, []float32{1}})
	d, err := FromFS(mapFS(files), "m")
	must(t, err)
	if got := d.Weights.Names(); !cmp.Equal(got, []string{"single"}) {
		t.Errorf("Names() = %v, want the tensor of the single file", got)
	}
}

// TestOtherWeights names the weights that are opened and those that are left.
func TestOtherWeights(t *testing.T) {
	one := shard(t, nil, Tensor{"single", nil, []float32{1}})
	const index = "model.safetensors.index.json"
	for name, c := range map[string]struct {
		change func(files map[string]string)
		names  []string
		remark string
	}{
		"single file": {
			func(f map[string]string) { f["model.safetensors"], f["optimizer.pt"] = one, "" },
			[]string{"single"},
			"the weights are those of model.safetensors; other weights in the folder were left: " +
				index,
		},
		"other formats": {
			func(f map[string]string) {
				f["consolidated.safetensors"], f["pytorch_model.bin"], f["m-q4.gguf"] = one, "", ""
			},
			[]string{"extra", "v", "w"},
			"the weights are those of " + index + "; other weights in the folder were left: " +
				"consolidated.safetensors, m-q4.gguf, pytorch_model.bin",
		},
		"index of a tensor that is nowhere": {
			func(f map[string]string) {
				f[index] = `{"weight_map":{"w":"a.safetensors","v":"b.safetensors",` +
					`"mtp.w":"b.safetensors","mtp.v":"c.safetensors"}}`
			},
			[]string{"extra", "mtp.v", "mtp.w", "v", "w"},
			index + ` names tensors that are in no shard and that the model does not need: "mtp.v", ` +
				`"mtp.w"`,
		},
		"no index": {
			func(f map[string]string) {
				f["model-00001-of-00002.safetensors"] = f["a.safetensors"]
				f["model-00002-of-00002.safetensors"] = f["b.safetensors"]
				delete(f, index)
				delete(f, "a.safetensors")
				delete(f, "b.safetensors")
			},
			[]string{"extra", "v", "w"},
			"there is no " + index + ": the weights are those of model-00001-of-00002.safetensors " +
				"and all other shards",
		},
		"one set": {func(map[string]string) {}, []string{"extra", "v", "w"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			files := sharded(t)
			c.change(files)
			d, err := FromFS(mapFS(files), "m")
			must(t, err)
			if got := d.Weights.Names(); !cmp.Equal(got, c.names) {
				t.Errorf("Names() = %v, want %v", got, c.names)
			}
			if got := strings.Join(d.Remarks, "; "); got != c.remark {
				t.Errorf("remarks %q, want %q", got, c.remark)
			}
			if v, err := d.Weights.Float32("v"); err == nil && !cmp.Equal(v, []float32{3, 4}) {
				t.Errorf("v = %v, want [3 4]", v)
			}
			for _, name := range c.names {
				_, err := d.Weights.Shape(name)
				absent := err != nil && strings.Contains(err.Error(), ".safetensors has no "+
					"tensor \""+name+"\", where "+index+" says it is; download the shard again")
				if absent != strings.HasPrefix(name, "mtp.") {
					t.Errorf("Shape(%s): %v", name, err)
				}
			}
		})
	}
}

// TestShardsHash compares with sums made by other tools:
//
//	(printf '{}' | sha256sum
//	 printf '\2\0\0\0\0\0\0\0{}' | sha256sum
//	 printf '\3\0\0\0\0\0\0\0{} ' | sha256sum) |
//	cut -c1-64 | xxd -r -p | sha256sum
//
// The files hold no tensors, so the index, which may not be empty, is not checked against them.
func TestShardsHash(t *testing.T) {
	a, errA := FromBytes("a", []byte("\x02\x00\x00\x00\x00\x00\x00\x00{}"))
	b, errB := FromBytes("b", []byte("\x03\x00\x00\x00\x00\x00\x00\x00{} "))
	must(t, errors.Join(errA, errB))
	all := &File{tensors: map[string]entry{}, metadata: map[string]string{}}
	must(t, errors.Join(all.add(a), all.add(b)))
	d := &Dir{ConfigJSON: []byte("{}"), Weights: all}
	const want = "4d2229a5d9d07c5876e72c91896b6eeccfaae2223f06f44afa74dbaca79fb1d0"
	if got, err := d.Hash(t.Context()); err != nil || got != want {
		t.Errorf("Hash() = %s, %v, want %s", got, err, want)
	}
}

// refusedShards is a change of the files of a checkpoint in two parts, and what the error says.
type refusedShards struct {
	name   string
	change func(files map[string]string)
	want   string
}

func TestShardsRefuse(t *testing.T) {
	const index = "model.safetensors.index.json"
	names := func(weightMap string) string { return `{"weight_map":` + weightMap + `}` }
	cases := []refusedShards{
		{
			"shard of no index missing", func(f map[string]string) {
				delete(f, index)
				f["model-00002-of-00003.safetensors"] = f["a.safetensors"]
			}, "m has no model-00001-of-00003.safetensors: file does not exist; it is one of the " +
				"3 shards of the model",
		},
		{
			"truncated shard",
			func(f map[string]string) {
				f["b.safetensors"] = f["b.safetensors"][:len(f["b.safetensors"])-1]
			}, "m/b.safetensors: tensor \"v\": data_offsets [0,4] run past the end",
		},
		{
			"shard a pointer",
			func(f map[string]string) {
				f["b.safetensors"] = "version https://git-lfs.github.com/spec/v1\n"
			}, "m/b.safetensors: this is a Git LFS pointer",
		},
		{"shards swapped", func(f map[string]string) {
			f["a.safetensors"], f["b.safetensors"] = f["b.safetensors"], f["a.safetensors"]
		}, `tensor "v" is in m/a.safetensors, but model.safetensors.index.json says in ` +
			`m/b.safetensors: the shards are swapped`},
		{"tensor in two shards", func(f map[string]string) {
			f["b.safetensors"] = shard(t, nil, Tensor{"v", nil, []float32{1}},
				Tensor{"w", nil, []float32{1}})
		}, `tensor "w" is in m/a.safetensors and in m/b.safetensors`},
		{
			"tensor twice in the index",
			func(f map[string]string) {
				f[index] = names(`{"w":"a.safetensors","w":"b.safetensors"}`)
			}, `weight_map: key "w" comes twice`,
		},
		{
			"two values", func(f map[string]string) { f[index] += `{}` },
			"index.json: not valid JSON",
		},
		{
			"not UTF-8", func(f map[string]string) {
				f[index] = names("{\"\xff\":\"a.safetensors\"}")
			}, "not valid UTF-8",
		},
		{
			"huge", func(f map[string]string) { f[index] = strings.Repeat(" ", maxIndex+1) },
			"has 67108865 bytes, the limit is 67108864",
		},
		{
			"shard a folder", func(f map[string]string) {
				delete(f, "b.safetensors")
				f["b.safetensors/x"] = ""
			}, "b.safetensors is not a regular file",
		},
	}
	for _, c := range recordedRefusals(t).Indexes {
		cases = append(cases, refusedShards{
			c[0], func(f map[string]string) { f[index] = c[1] }, c[2],
		})
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			files := sharded(t)
			c.change(files)
			_, err := FromFS(mapFS(files), "m")
			if err == nil || !strings.HasPrefix(err.Error(), "checkpoint: ") ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// Whatever the index says, only files of the directory are opened, and every tensor can be read.
func FuzzIndex(f *testing.F) {
	for _, s := range []string{
		`{"metadata":{"total_size":12},"weight_map":{"w":"a.safetensors"}}`,
		`{"weight_map":{"w":"a.safetensors","v":"b.safetensors"}}`,
		`{"weight_map":{"w":"../a.safetensors"}}`,
		`{"weight_map":{"w":"a.safetensors","w":"b.safetensors"}}`, `{"weight_map":[]}`, `{`,
		"null",
		`{"metadata":[[{}]],"weight_map":{"\u0077":"a.safetensors"}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<14 {
			return
		}
		index, err := parseIndex(b)
		if err != nil {
			return
		}
		for name, file := range index {
			if !fs.ValidPath(file) || !filepath.IsLocal(file) ||
				!strings.HasSuffix(file, ".safetensors") {
				t.Fatalf("tensor %q: file %q was accepted", name, file)
			}
		}
		files := sharded(t)
		files[indexFile] = string(b)
		d, err := FromFS(mapFS(files), "m")
		if err != nil {
			return
		}
		for _, name := range d.Weights.Names() {
			_, err := d.Weights.Float32(name)
			if name == "extra" {
				_, err = d.Weights.Int64(name)
			}
			if err != nil {
				t.Error(err)
			}
		}
		for name := range index {
			if !d.Weights.Has(name) {
				t.Errorf("tensor %q of the index is not there", name)
			}
		}
	})
}

// TestFileOf: each tensor is in the file that has it; a tensor that does not exist is in none.
func TestFileOf(t *testing.T) {
	d, err := FromFS(mapFS(sharded(t)), "m")
	must(t, err)
	defer d.Close()
	for tensor, want := range map[string]string{
		"w": "m/a.safetensors", "extra": "m/a.safetensors", "v": "m/b.safetensors", "x": "",
	} {
		if got := d.Weights.FileOf(tensor); got != want {
			t.Errorf("FileOf(%s) = %q, want %q", tensor, got, want)
		}
	}
	if got := d.Weights.Name(); got != "m/model.safetensors.index.json" {
		t.Errorf("the shards are called %q", got)
	}
}
