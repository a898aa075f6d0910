package checkpoint

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func weights(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	must(t, Write(&b, []Tensor{{"w", []int{1}, []float32{1}}}, nil))
	return b.Bytes()
}

// mapFS makes a file system of names and contents.
func mapFS(files map[string]string) fstest.MapFS {
	m := fstest.MapFS{}
	for name, data := range files {
		m[name] = &fstest.MapFile{Data: []byte(data)}
	}
	return m
}

// noReaderAt hides ReadAt, as a file inside an archive would.
type noReaderAt struct{ fs.FS }

func (n noReaderAt) Open(name string) (fs.File, error) {
	f, err := n.FS.Open(name)
	return struct{ fs.File }{f}, err
}

func TestDir(t *testing.T) {
	files := map[string]string{
		"config.json":       `{"model_type":"bloom","n_head":4,"eps":1e-05,"big":9007199254740993}`,
		"model.safetensors": string(weights(t)),
		"tokenizer.json":    `{"model":{}}`,
	}
	disk := t.TempDir()
	for name, data := range files {
		must(t, os.WriteFile(filepath.Join(disk, name), []byte(data), 0o600))
	}
	open := map[string]func() (*Dir, error){
		"disk":    func() (*Dir, error) { return OpenDir(disk) },
		"map":     func() (*Dir, error) { return FromFS(mapFS(files), "m") },
		"archive": func() (*Dir, error) { return FromFS(noReaderAt{mapFS(files)}, "m") },
	}
	for name, open := range open {
		t.Run(name, func(t *testing.T) {
			d, err := open()
			must(t, err)
			if got := d.Config["big"]; got != json.Number("9007199254740993") {
				t.Errorf("Config[big] = %v, want the number as written", got)
			}
			if string(d.ConfigJSON) != files["config.json"] {
				t.Errorf("ConfigJSON = %q", d.ConfigJSON)
			}
			if got, err := d.Weights.Float32("w"); err != nil || got[0] != 1 {
				t.Errorf("weight %v, %v, want 1", got, err)
			}
			if tok, err := d.TokenizerJSON(); err != nil || !d.HasTokenizer() ||
				string(tok) != files["tokenizer.json"] {
				t.Errorf("TokenizerJSON() = %q, %v", tok, err)
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestHash compares with sums made by other tools:
//
//	(printf '{}' | sha256sum; sha256sum < model.safetensors) | cut -c1-64 | xxd -r -p | sha256sum
//
// where model.safetensors is the ten bytes 02 00 00 00 00 00 00 00 7b 7d, a file without tensors.
func TestHash(t *testing.T) {
	d, err := FromFS(mapFS(map[string]string{
		"config.json":       "{}",
		"model.safetensors": "\x02\x00\x00\x00\x00\x00\x00\x00{}",
	}), "m")
	must(t, err)
	const want = "361b064e7705c46808a058807067859dccd49f2397ac5cb83d1e1d98d76efb33"
	for range 2 {
		if got, err := d.Hash(t.Context()); err != nil || got != want {
			t.Errorf("Hash() = %s, %v, want %s", got, err, want)
		}
	}
}

func TestEOS(t *testing.T) {
	cases := []struct {
		name, config, generation string
		want                     []int
		err                      string
	}{
		{"none", `{}`, ``, nil, ""},
		{"config", `{"eos_token_id":2}`, ``, []int{2}, ""},
		{"generation first", `{"eos_token_id":2}`, `{"eos_token_id":[5,7]}`, []int{5, 7}, ""},
		{"generation null", `{"eos_token_id":2}`, `{"eos_token_id":null}`, []int{2}, ""},
		{"text", `{"eos_token_id":"x"}`, ``, nil, "m/config.json: eos_token_id is \"x\"; it must be a token id"},
		{"negative", `{}`, `{"eos_token_id":[-1,3]}`, []int{3}, ""},
		{"fraction in a list", `{"eos_token_id":[1,1.5]}`, ``, nil, "eos_token_id[1] is 1.5"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{
				"config.json":       c.config,
				"model.safetensors": string(weights(t)),
			}
			if c.generation != "" {
				files["generation_config.json"] = c.generation
			}
			d, err := FromFS(mapFS(files), "m")
			must(t, err)
			got, err := d.EOS()
			if c.err == "" && err != nil || c.err != "" &&
				(err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("error %v, want %q", err, c.err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("EOS (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDirRefuses(t *testing.T) {
	const ok = `{"model_type":"gpt2"}`
	cases := []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"empty", nil, "m has no config.json: file does not exist; it is empty"},
		{
			"no config",
			map[string]string{"README.md": "", "model.safetensors": "x"},
			"m has no config.json: file does not exist; found README.md, model.safetensors",
		},
		{"no weights", map[string]string{"config.json": ok}, "m has no model.safetensors: file does not exist; found config.json"},
		{
			"many files", map[string]string{
				"1": "", "2": "", "3": "", "4": "", "5": "", "6": "",
				"7": "", "8": "", "9": "", "a": "",
			}, "7, 8 and 2 more",
		},
		{"config not JSON", map[string]string{"config.json": "{"}, "m/config.json: not valid JSON at byte 2: the text ends too early"},
		{"two values", map[string]string{"config.json": "{} {}"}, "m/config.json: not valid JSON: there is more after the value"},
		{"config a list", map[string]string{"config.json": "[]"}, "m/config.json: not a JSON object"},
		{"config null", map[string]string{"config.json": "null"}, "m/config.json: not a JSON object"},
		{
			"config huge",
			map[string]string{"config.json": strings.Repeat(" ", maxConfig+1)},
			"m/config.json has 16777217 bytes, the limit is 16777216",
		},
		{
			"generation not JSON",
			map[string]string{"config.json": ok, "generation_config.json": "x"},
			"m/generation_config.json: not valid JSON",
		},
		{"config a folder", map[string]string{"config.json/x": ""}, "m/config.json is not a regular file"},
		{"weights truncated", map[string]string{"config.json": ok, "model.safetensors": "abc"}, "m/model.safetensors: truncated: 3 bytes"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := FromFS(mapFS(c.files), "m")
			if err == nil || !strings.HasPrefix(err.Error(), "checkpoint: ") ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestDirWithoutTokenizer(t *testing.T) {
	d, err := FromFS(mapFS(map[string]string{
		"config.json":       "{}",
		"model.safetensors": string(weights(t)),
	}), "m")
	must(t, err)
	if _, err := d.TokenizerJSON(); d.HasTokenizer() || err == nil ||
		!strings.Contains(err.Error(), "m has no tokenizer.json") {
		t.Errorf("TokenizerJSON(): error %v, HasTokenizer %v, want that there is none", err,
			d.HasTokenizer())
	}
}

func TestOpenDirRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.safetensors")
	must(t, os.WriteFile(path, weights(t), 0o600))
	if _, err := OpenDir(path); err == nil ||
		!strings.Contains(err.Error(), "is not a directory; name the one that holds config.json") {
		t.Errorf("OpenDir(file): error %v", err)
	}
	if _, err := OpenDir(path + "x"); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("OpenDir(missing): error %v", err)
	}
}

// TestAsPython: of a key that comes twice the last value counts, and the key is named. The numbers
// that JSON does not have are numbers; in a text they are text.
func TestAsPython(t *testing.T) {
	text := `{"a": 1, "a": NaN, "o": [{"k": 1, "k": -Infinity}], "i": Infinity, "t": "\"NaN",` +
		` "NaN": [Infinity,NaN]}`
	object, twice, err := decodeObject([]byte(text))
	must(t, err)
	n := func(s string) json.Number { return json.Number(s) }
	want := map[string]any{
		"a": n("NaN"), "o": []any{map[string]any{"k": n("-Infinity")}}, "i": n("Infinity"),
		"t": `"NaN`, "NaN": []any{n("Infinity"), n("NaN")},
	}
	if !reflect.DeepEqual(object, want) || !slices.Equal(twice, []string{"a", "k"}) {
		t.Errorf("%v, twice %v; want %v and a, k twice", object, twice, want)
	}
	for _, text := range []string{`{"a": NaNa}`, `{"a": nan}`, `{"a": +Infinity}`, `{"a": - NaN}`} {
		if _, _, err := decodeObject([]byte(text)); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}

// TestJSONErrors: an error about config.json names the place, the pointer to the value and what is
// there.
func TestJSONErrors(t *testing.T) {
	for _, c := range []struct{ name, config, want string }{
		{"comma", "{\"a\": 1,}", `at byte 8: unexpected ",}"`},
		{"cut", "{\"a\": 1, \"b\": [2,", `in /b: the text ends too early`},
		{"deep", "{\"a\":" + strings.Repeat("[", 10001) + strings.Repeat("]", 10001) + "}", "more than 10000 lists and objects"},
		{"long key", "{\"" + strings.Repeat("k", 1000) + "\": x}", `unexpected "x}"`},
		{"text", `"config"`, `not a JSON object, but "config"`},
		{"list", `[[1]]`, `not a JSON object, but a list that begins with a list`},
	} {
		_, err := FromFS(fstest.MapFS{"config.json": {Data: []byte(c.config)}}, "m")
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), "m/config.json") {
			t.Errorf("%s: error %v, want one with %q and the file", c.name, err, c.want)
		}
		if err != nil && len(err.Error()) > 1200 {
			t.Errorf("%s: error of %d bytes", c.name, len(err.Error()))
		}
	}
}

// TestPublishedTokenizerFiles: what people published beside config.json is read without an error,
// where the folder with it is beside the checkout.
func TestPublishedTokenizerFiles(t *testing.T) {
	paths, err := filepath.Glob("../../../shared/reference/configs/tokenizer/*.json")
	if err != nil || len(paths) == 0 {
		t.Skip("the folder of published files is not there")
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		must(t, err)
		d := &Dir{Name: "m"}
		values, err := d.decode(filepath.Base(path), text)
		if err != nil || d.Remarks != nil {
			t.Errorf("error %v, remarks %q", err, d.Remarks)
		}
		if strings.HasPrefix(filepath.Base(path), "generation_config") {
			d.Generation = values
			_, err = d.EOS()
		} else {
			err = d.addSpecial(map[string]string{}, filepath.Base(path), values)
		}
		if err != nil {
			t.Error(err)
		}
	}
}
