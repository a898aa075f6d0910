package models_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/gguf"
	"github.com/headwater-ml/headwater/internal/gguf/gguftest"
	"github.com/headwater-ml/headwater/internal/modelgolden"
	"github.com/headwater-ml/headwater/internal/testhelp"
	"github.com/headwater-ml/headwater/models"
)

// ggufGolden returns a golden as GGUF.
func ggufGolden(t testing.TB, name string) gguftest.File {
	t.Helper()
	dir, err := checkpoint.OpenDir("testdata/goldens/" + name)
	must(t, err)
	defer dir.Close()
	file, err := gguftest.Convert(dir)
	must(t, err)
	return file
}

// A model that was converted to GGUF gives the logits, attention and greedy text that the reference
// implementation gave before the conversion.
func TestGGUFGoldens(t *testing.T) {
	for _, name := range append([]string{"t5", "t5_v1_1"}, gguftest.Convertible...) {
		t.Run(name, func(t *testing.T) {
			f, err := gguf.FromBytes(name+".gguf", ggufGolden(t, name).Bytes())
			must(t, err)
			m, err := gguf.NewModel(f)
			must(t, err)
			known, spec, err := m.Read()
			must(t, err)
			if spec.RelativeBuckets > 0 {
				spec.RelativeDistance = 10 // of the recorded models; the file does not say it
			}
			load, err := known.Loader(f.Name(), m.Weights, spec)
			must(t, err)
			g := modelgolden.OpenWith(t, "testdata/goldens/"+name, known, spec, load)
			g.Parity(t)
			if !spec.Bidirectional {
				g.Greedy(t)
			}
		})
	}
}

// A GGUF file opens by its path, and what the program uses of it is there: tokens, chat template,
// roles of tokens, and a hash that depends on every byte.
func TestOpenGGUF(t *testing.T) {
	file := ggufGolden(t, "llama").With(gguftest.Words()...)
	path := filepath.Join(t.TempDir(), "model.gguf")
	write(t, path, file.Bytes())
	m, err := models.Open(path, models.Options{Backend: "go"})
	must(t, err)
	info := m.Info()
	if info.Name != path || info.Family != "llama" || info.Layers != 3 || info.Vocab != 96 ||
		len(info.Hash) != 64 {
		t.Errorf("info %+v", info)
	}
	tokens, err := m.Encode("the cat", trace.SpecialsAuto)
	var ids []int
	for _, token := range tokens {
		ids = append(ids, token.ID)
	}
	if err != nil || !slices.Equal(ids, []int{30, 28, 4, 2, 21}) {
		t.Errorf("ids %v, want [30 28 4 2 21]: %v", ids, err)
	}
	text, _, err := m.Converse(trace.Conversation{}, "hello")
	if err != nil || text != "<user>hello<end>" {
		t.Errorf("chat %q: %v", text, err)
	}
	for kind, want := range map[string]int{"unknown": 1, "end": 0} {
		if id, ok := m.Replacement(kind); !ok || id != want {
			t.Errorf("replacement %s is %d, %v, want %d", kind, id, ok, want)
		}
	}
	if m.Memory().Weights != 4*int64(parameters(t, "testdata/goldens/llama")) {
		t.Errorf("%d bytes of weights", m.Memory().Weights)
	}
	other := filepath.Join(t.TempDir(), "other.gguf")
	write(t, other, file.With(gguftest.Key{Name: "general.name", Value: "x"}).Bytes())
	second, err := models.Open(other, models.Options{Backend: "go"})
	must(t, err)
	if second.Info().Hash == info.Hash {
		t.Error("two files that differ have the same hash")
	}
	if title := second.Info().Title; title != "x" || info.Title != "" {
		t.Errorf("titles %q and %q, want x and none", title, info.Title)
	}
	long := filepath.Join(t.TempDir(), "long.gguf")
	name := gguftest.Key{Name: "general.name", Value: strings.Repeat("x", 201)}
	write(t, long, file.With(name).Bytes())
	third, err := models.Open(long, models.Options{Backend: "go"})
	if err != nil || third.Info().Title != "" {
		t.Errorf("a name of 201 bytes is a title: %v", err)
	}
}

// TestT5GGUF: the tokens of a text for T5 in a GGUF file are the source with its end, and the id
// with which the target begins.
func TestT5GGUF(t *testing.T) {
	tokens := append([]string{"<pad>", "</s>", "<unk>", "▁", "a", "b", "▁a"},
		slices.Repeat([]string{"[PAD]"}, 41)...)
	types := append([]int32{3, 3, 2, 1, 1, 1, 1}, slices.Repeat([]int32{5}, 41)...)
	scores := append([]float32{0, 0, 0, -3, -3, -3, -1}, slices.Repeat([]float32{-10000}, 41)...)
	path := filepath.Join(t.TempDir(), "t5.gguf")
	write(t, path, ggufGolden(t, "t5").With(
		gguftest.Key{Name: "tokenizer.ggml.model", Value: "t5"},
		gguftest.Key{Name: "tokenizer.ggml.tokens", Value: tokens},
		gguftest.Key{Name: "tokenizer.ggml.token_type", Value: types},
		gguftest.Key{Name: "tokenizer.ggml.scores", Value: scores},
		gguftest.Key{Name: "tokenizer.ggml.eos_token_id", Value: uint32(1)},
	).Bytes())
	m, err := models.Open(path, models.Options{Backend: "go"})
	must(t, err)
	encoded, err := m.Encode("a  b ", trace.SpecialsAuto)
	if got := trace.IDs(encoded); err != nil || !slices.Equal(got, []int{6, 3, 5, 1, 48}) {
		t.Errorf("ids %v, want [6 3 5 1 48]: %v", got, err)
	}
}

// parameters returns how many numbers a checkpoint has.
func parameters(t *testing.T, dir string) (count int) {
	t.Helper()
	d, err := checkpoint.OpenDir(dir)
	must(t, err)
	defer d.Close()
	for _, name := range d.Weights.Names() {
		shape, err := d.Weights.Shape(name)
		must(t, err)
		n := 1
		for _, x := range shape {
			n *= x
		}
		count += n
	}
	return count
}

// splitGGUF writes a file in three parts and returns the path of the first.
func splitGGUF(t *testing.T, dir string, file gguftest.File) string {
	t.Helper()
	third := (len(file.Tensors) + 2) / 3
	for i, tensors := range slices.Collect(slices.Chunk(file.Tensors, third)) {
		part := gguftest.File{Tensors: tensors}
		if i == 0 {
			part.Keys = file.Keys
		}
		part = part.With(gguftest.Key{Name: "split.no", Value: uint16(i)},
			gguftest.Key{Name: "split.count", Value: uint16(3)},
			gguftest.Key{Name: "split.tensors.count", Value: int32(len(file.Tensors))})
		write(t, filepath.Join(dir, fmt.Sprintf("m-%05d-of-00003.gguf", i+1)), part.Bytes())
	}
	return filepath.Join(dir, "m-00001-of-00003.gguf")
}

// A split file opens by its first part. A part that is missing, of another file, or not the first
// is an error that names it.
func TestSplitGGUF(t *testing.T) {
	file := ggufGolden(t, "qwen2")
	dir := t.TempDir()
	first := splitGGUF(t, dir, file)
	open := func(path string) (*models.Model, error) {
		return models.Open(path, models.Options{Backend: "go"})
	}
	whole := filepath.Join(dir, "whole.gguf")
	write(t, whole, file.Bytes())
	m, err := open(whole)
	must(t, err)
	split, err := open(first)
	must(t, err)
	ids := []int{5, 6, 7}
	a, err := m.Trace(t.Context(), ids, []trace.Tap{trace.Logits})
	must(t, err)
	b, err := split.Trace(t.Context(), ids, []trace.Tap{trace.Logits})
	if err != nil || !slices.Equal(a[0].Data, b[0].Data) {
		t.Errorf("the logits of the split file differ: %v", err)
	}
	second := filepath.Join(dir, "m-00002-of-00003.gguf")
	if _, err := open(second); err == nil ||
		!strings.Contains(err.Error(), "it is part 2 of 3: open the first part, m-00001-of-") {
		t.Errorf("the second part: %v", err)
	}
	renamed := filepath.Join(t.TempDir(), "m.gguf")
	data, err := os.ReadFile(first)
	must(t, err)
	write(t, renamed, data)
	if _, err := open(renamed); err == nil ||
		!strings.Contains(err.Error(), "its name must end in -00001-of-00003.gguf") {
		t.Errorf("a part under another name: %v", err)
	}
	write(t, filepath.Join(dir, "m-00003-of-00003.gguf"), data)
	if _, err := open(first); err == nil || !strings.Contains(err.Error(), "split.no is 0") {
		t.Errorf("a part twice: %v", err)
	}
	must(t, os.Remove(second))
	if _, err := open(first); err == nil ||
		!strings.Contains(err.Error(), "m-00002-of-00003.gguf") {
		t.Errorf("a missing part: %v", err)
	}
}

// Parts of a split file that were joined by cat, and a file that was cut by bytes: the error has
// the line that mends it, which is run here by a shell until the model opens.
func TestJoinedAndCutGGUF(t *testing.T) {
	file := ggufGolden(t, "qwen2")
	whole := file.Bytes()
	parts := filepath.Dir(splitGGUF(t, t.TempDir(), file))
	var joined []byte
	for i := range 3 {
		part, err := os.ReadFile(filepath.Join(parts, fmt.Sprintf("m-%05d-of-00003.gguf", i+1)))
		must(t, err)
		joined = append(joined, part...)
	}
	third := len(whole)/3 + 1
	pieces := func(names ...string) map[string][]byte {
		all := map[string][]byte{}
		for i, name := range names {
			all[name] = whole[i*third : min(len(whole), (i+1)*third)]
		}
		return all
	}
	for name, c := range map[string]struct {
		files       map[string][]byte
		open, mends string // what is opened, and after all lines
		want        []string
	}{
		"joined": {
			map[string][]byte{"it's.gguf": joined}, "it's.gguf", "it's-00001-of-00003.gguf",
			[]string{"it is part 1 of 3 of a split file, with what comes after it, which begins at "},
		},
		"one of many": {
			pieces("q.gguf.part1of3", "q.gguf.part2of3", "q.gguf.part3of3"),
			"q.gguf.part2of3", "q.gguf",
			[]string{"not a GGUF file", "It is one of 3 pieces of a file that was cut by bytes"},
		},
		"split -b":     {pieces("xaa", "xab", "xac"), "xaa", "x.gguf", []string{"truncated", "3 pieces"}},
		"after a name": {pieces("m.gguf-split-a", "m.gguf-split-b", "m.gguf-split-c"), "m.gguf-split-a", "m.gguf", []string{"3 pieces"}},
		"numbers":      {pieces("m.8", "m.9", "m.10"), "m.10", "m.gguf", []string{"3 pieces"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for name, data := range c.files {
				write(t, filepath.Join(dir, name), data)
			}
			path := filepath.Join(dir, c.open)
			for i := range 4 {
				_, err := models.Open(path, models.Options{Backend: "go"})
				if err == nil {
					break
				}
				message, line, ok := strings.Cut(err.Error(), "\n\t")
				for _, want := range c.want {
					if !ok || i == 0 && !strings.Contains(message, want) {
						t.Fatalf("error %v, want one with %q and a line", err, want)
					}
				}
				out, err := exec.CommandContext(t.Context(), "sh", "-c", line).CombinedOutput()
				if err != nil {
					t.Fatalf("%s: %v: %s", line, err, out)
				}
				path = filepath.Join(dir, c.mends)
				if i == 0 && c.files["it's.gguf"] != nil {
					path = filepath.Join(dir, "it's-rest.gguf")
				}
			}
			m, err := models.Open(filepath.Join(dir, c.mends), models.Options{Backend: "go"})
			must(t, err)
			_, err = m.Trace(t.Context(), []int{5, 6, 7}, []trace.Tap{trace.Logits})
			must(t, err)
		})
	}
	// Files that only look like pieces have the error that they have.
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a1"), []byte("GGUF"))
	write(t, filepath.Join(dir, "a2"), []byte("GGUF"))
	if _, err := models.Open(filepath.Join(dir, "a1"), models.Options{}); err == nil ||
		strings.Contains(err.Error(), "pieces") {
		t.Errorf("error %v; two files are no pieces of one", err)
	}
}

// Paths that are no models say what is wrong with them.
func TestNoGGUF(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "notes.txt"), []byte("some notes"))
	for path, want := range map[string]string{
		filepath.Join(dir, "notes.txt"): `notes.txt: not a GGUF file: it begins with "some"`,
		"missing.gguf":                  "missing.gguf is neither a directory",
	} {
		if _, err := models.Open(path, models.Options{Backend: "go"}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", path, err, want)
		}
	}
}

var must = testhelp.Must // ends a test at an error
