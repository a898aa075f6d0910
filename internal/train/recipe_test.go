package train

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/testhelp"
	"github.com/headwater-ml/headwater/internal/tiny"
	"github.com/headwater-ml/headwater/internal/tokenizer"
	"github.com/headwater-ml/headwater/models/family"
	"github.com/headwater-ml/headwater/models/spec"
)

// later are the names of the embedded models beside the first one.
func later() []string { return tiny.Names()[1:] }

// recipeFor returns the recipe of a model, its configuration and its tokenizer.
func recipeFor(t *testing.T, name string) (recipe, Config, *tokenizer.Tokenizer) {
	t.Helper()
	cfg, err := For(name)
	must(t, err)
	r, err := recipeOf(cfg)
	must(t, err)
	tok, err := r.tokenizer()
	must(t, err)
	return r, cfg, tok
}

// shipped opens the files of an embedded model: its spec, a function that reads its weights, and
// its report.
func shipped(t *testing.T, name string) (*checkpoint.Dir, *spec.Spec,
	func(spec.Param) ([]float32, error), *Report,
) {
	t.Helper()
	m, _ := tiny.Lookup(name)
	dir, err := checkpoint.FromFS(m.Files(), name)
	must(t, err)
	t.Cleanup(func() { dir.Close() })
	f, arch, err := family.Read(family.NewConfig("config.json", dir.Config))
	must(t, err)
	load, err := f.Loader(name, dir.Weights, arch)
	must(t, err)
	weights := func(p spec.Param) ([]float32, error) {
		data := make([]float32, p.Size())
		err := load(p, func(first int, values []float32) { copy(data[first:], values) })
		return data, err
	}
	data, err := fs.ReadFile(m.Files(), "report.json")
	must(t, err)
	report := &Report{}
	must(t, json.Unmarshal(data, report))
	return dir, arch, weights, report
}

// TestForRefuses: an unknown model is refused with the names of all.
func TestForRefuses(t *testing.T) {
	if _, err := For("tiny-poem"); err == nil || !strings.Contains(err.Error(), tiny.AlibiName) {
		t.Errorf("an unknown model: error %v, want one that lists the models", err)
	}
	if _, err := NewTrainer(goBackend(t), Config{Model: "tiny-poem"}, nil); err == nil {
		t.Error("a trainer of an unknown model is made")
	}
}

// TestRecipesAreShipped: the settings, the tokenizer and the architecture of each embedded model
// are those that its recipe makes, so that training again gives the same directory.
func TestRecipesAreShipped(t *testing.T) {
	for _, name := range later() {
		r, cfg, tok := recipeFor(t, name)
		dir, arch, _, report := shipped(t, name)
		want := r.spec(tok)
		if diff := cmp.Diff(want, arch); diff != "" {
			t.Errorf("%s: architecture (-recipe +shipped):\n%s", name, diff)
		}
		if got, want := string(dir.ConfigJSON), string(encodeJSON(r.config(want))); got != want {
			t.Errorf("%s: config.json is\n%s\nand the recipe writes\n%s", name, got, want)
		}
		var file bytes.Buffer
		if _, err := tok.WriteTo(&file); err != nil {
			t.Fatal(err)
		}
		if b, err := dir.TokenizerJSON(); err != nil || !bytes.Equal(b, file.Bytes()) {
			t.Errorf("%s: tokenizer.json differs from that of the recipe, error %v", name, err)
		}
		if diff := cmp.Diff(cfg, report.Config); diff != "" {
			t.Errorf("%s: configuration (-recipe +report):\n%s", name, diff)
		}
		if cfg.Guided != 0 || r.guided {
			t.Errorf("%s was shown the evidence", name)
		}
	}
}

// TestShippedReports: the reports have what the embedded weights give, on the first sentences of
// each kind, and the hash is that of the file.
func TestShippedReports(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: with -short it leaves out the answers of the embedded models")
	}
	for _, name := range later() {
		_, cfg, tok := recipeFor(t, name)
		_, _, weights, report := shipped(t, name)
		m, _ := tiny.Lookup(name)
		file, err := fs.ReadFile(m.Files(), "model.safetensors")
		must(t, err)
		if hash := fmt.Sprintf("%x", sha256.Sum256(file)); hash != report.WeightHash {
			t.Errorf("%s: the weights have the hash %s, the report says %s", name, hash,
				report.WeightHash)
		}
		cfg.Batch = 10
		e, err := newEvaluator(goBackend(t), cfg, tok, weights)
		must(t, err)
		for i, kind := range e.recipe.model.Kinds() {
			const n = 20
			got, err := e.measure(t.Context(), tiny.HeldOut, kind, n, testSeed)
			must(t, err)
			want := report.HeldOut[i]
			// A share of 20 of the texts is within five standard deviations of theirs.
			p := want.Right
			off := 5*math.Sqrt(p*(1-p)/float64(got.Answers)) + 1/float64(got.Answers)
			if want.Kind != kind || math.Abs(got.Right-p) > off {
				t.Errorf("%s, %s: %.3f of %d answers are right, and the report says %.3f of %d",
					name, kind, got.Right, got.Answers, p, want.Answers)
			}
		}
	}
}

// TestEncoderBatches reads batches of the encoders back: whole sentences between [CLS] and [SEP],
// one class a row, or targets only under mask tokens.
func TestEncoderBatches(t *testing.T) {
	for _, name := range []string{tiny.VerbName, tiny.MaskedName, tiny.SentimentName} {
		r, cfg, tok := recipeFor(t, name)
		b := r.batch(cfg, tok, 5)
		if !cmp.Equal(b, r.batch(cfg, tok, 5), cmp.AllowUnexported(batch{})) ||
			cmp.Equal(b.ids, r.batch(cfg, tok, 6).ids) {
			t.Errorf("%s: batches do not follow from the step", name)
		}
		mask := int32(mustID(tok, tiny.Mask))
		answers := 0
		for row := range b.rows {
			ids := b.ids[row*b.length : (row+1)*b.length]
			n := slices.Index(b.real[row*b.length:(row+1)*b.length], 0)
			if n < 0 {
				n = b.length
			}
			if ids[0] != int32(mustID(tok, classToken)) ||
				ids[n-1] != int32(mustID(tok, endToken)) ||
				slices.Contains(ids, int32(mustID(tok, "[UNK]"))) {
				t.Fatalf("%s: row %d is %v with %d tokens", name, row, ids, n)
			}
			if len(b.targets) == b.rows {
				if c := b.targets[row]; c < 0 || c > 1 || b.weights[row] != 1 {
					t.Fatalf("%s: row %d has class %d, weight %v", name, row, c, b.weights[row])
				}
				continue
			}
			for i, w := range b.weights[row*b.length : (row+1)*b.length] {
				if (w > 0) != (ids[i] == mask) || b.targets[row*b.length+i] == mask {
					t.Fatalf("%s: row %d, token %d: weight %v for token %d", name, row, i, w,
						ids[i])
				}
				if w == 1 {
					answers++
				}
			}
		}
		if name == tiny.MaskedName && (answers < b.rows/2 || answers == b.rows) {
			t.Errorf("%d of %d rows have a masked answer", answers, b.rows)
		}
	}
}

// TestTranslationBatches reads a batch of the model of two stacks back: a source, the boundary, and
// the target, of which every token and the end are to be predicted.
func TestTranslationBatches(t *testing.T) {
	r, cfg, tok := recipeFor(t, tiny.TranslationName)
	b := r.batch(cfg, tok, 3)
	bos, eos, boundary := int32(mustID(tok, bosToken)), int32(mustID(tok, eosToken)),
		int32(tok.VocabSize())
	for row := range b.rows {
		ids, targets := b.ids[row*b.length:][:b.length], b.targets[row*b.length:][:b.length]
		weights, at := b.weights[row*b.length:][:b.length], slices.Index(ids, boundary)
		n := slices.Index(b.real[row*b.length:][:b.length], 0)
		if n < 0 {
			n = b.length
		}
		if ids[0] != bos || at < 4 || slices.Contains(ids[1:n], bos) || slices.Contains(ids, eos) {
			t.Fatalf("row %d is %v", row, ids)
		}
		for i, w := range weights {
			ends := i > at && weights[i-1] == 1 && targets[i-1] == eos
			switch {
			case i < at && w != 0, i == at && w != 1, ends && w != 0:
				t.Fatalf("row %d, token %d: weight %v", row, i, w)
			case w == 1 && targets[i] != eos && targets[i] != ids[i+1]:
				t.Fatalf("row %d: after token %d comes %d, and the target is %d", row, i, ids[i+1],
					targets[i])
			}
		}
		if !slices.Contains(targets, eos) {
			t.Fatalf("row %d has no end: %v", row, targets)
		}
	}
}

// TestWrites: a target is written if each of its tokens has the highest score.
func TestWrites(t *testing.T) {
	scores := []float32{0, 2, 1, 3, 1, 2} // two tokens, three scores each
	for want, targets := range map[bool][][]int{
		true: {{1, 0}, {1}}, false: {{1, 2}, {2, 0}, {0}},
	} {
		for _, target := range targets {
			if got := writes(scores, 3, target); got != want {
				t.Errorf("%v: %v, want %v", target, got, want)
			}
		}
	}
}

// TestStreams reads a batch of the decoder of twelve layers back: one <bos> at the start of a row,
// and each target is the next token.
func TestStreams(t *testing.T) {
	r, cfg, tok := recipeFor(t, tiny.AlibiName)
	b := r.batch(cfg, tok, 2)
	bos, answers := int32(mustID(tok, bosToken)), 0
	for row := range b.rows {
		ids := b.ids[row*b.length : (row+1)*b.length]
		if ids[0] != bos || slices.Contains(ids[1:], bos) {
			t.Fatalf("row %d: %v", row, ids)
		}
		for i := range b.length {
			k := row*b.length + i
			if b.weights[k] == 1 {
				answers++
			}
			if b.weights[k] > 0 && i+1 < b.length && b.targets[k] != b.ids[k+1] {
				t.Fatalf("row %d: after token %d comes %d, and the target is %d", row, i,
					b.ids[k+1], b.targets[k])
			}
		}
	}
	if answers == 0 {
		t.Error("no token is an answer")
	}
}

// The batches of training are fixed, because the embedded weights were made from them.
func TestLaterBatchesAreFixed(t *testing.T) {
	want := map[string]uint64{
		tiny.VerbName: 0x5bc85c489532f1f4, tiny.MaskedName: 0x6372de585c711ba4,
		tiny.SentimentName: 0xbe1aef29ef70d6f, tiny.AlibiName: 0x979ec9022eb029f7,
		tiny.TranslationName: 0x4db890eec3771a1f,
	}
	for _, name := range later() {
		r, cfg, tok := recipeFor(t, name)
		h := fnv.New64a()
		for step := range 4 {
			b := r.batch(cfg, tok, step)
			fmt.Fprintln(h, b.ids, b.targets, b.weights, b.real)
		}
		if got := h.Sum64(); got != want[name] {
			t.Errorf("the batches of %s have changed (sum %#x, want %#x): train it again", name, got,
				want[name])
		}
	}
}

// TestEncoderFiles writes the first weights of each encoder, which are random, and reads the
// directory as a user's program does.
func TestEncoderFiles(t *testing.T) {
	for _, name := range later() {
		r, cfg, tok := recipeFor(t, name)
		cfg.Batch = 2
		trainer, err := NewTrainer(goBackend(t), cfg, tok)
		must(t, err)
		weights := map[string][]float32{}
		for _, p := range trainer.spec.Params() {
			data, err := trainer.Weights(p)
			must(t, err)
			for i, x := range data {
				data[i] = checkpoint.NewFloat16(x + float32(i%7)/8).Float32()
			}
			weights[p.Name] = data
		}
		path := filepath.Join(t.TempDir(), name)
		must(t, write(path, r, trainer.spec, tok, weights, &Report{Config: cfg}))
		dir, err := checkpoint.OpenDir(path)
		must(t, err)
		defer dir.Close()
		f, arch, err := family.Read(family.NewConfig("config.json", dir.Config))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(trainer.spec, arch); diff != "" {
			t.Errorf("%s: spec (-written +read):\n%s", name, diff)
		}
		load, err := f.Loader(path, dir.Weights, arch)
		must(t, err)
		for _, p := range arch.Params() {
			got := make([]float32, p.Size())
			put := func(first int, values []float32) { copy(got[first:], values) }
			must(t, load(p, put))
			if !slices.Equal(got, weights[p.Name]) {
				t.Errorf("%s: %s is not what was written", name, p.Name)
			}
		}
	}
}

// TestLaterSteps trains each later model for one step: the first loss is near that of a uniform
// guess, and every parameter changes that the model uses.
func TestLaterSteps(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: with -short it leaves out a step of each recipe")
	}
	for _, name := range later() {
		_, cfg, tok := recipeFor(t, name)
		cfg.Batch = 1
		trainer, err := NewTrainer(goBackend(t), cfg, tok)
		must(t, err)
		before := map[string][]float32{}
		for _, p := range trainer.spec.Params() {
			if before[p.Name], err = trainer.Weights(p); err != nil {
				t.Fatal(err)
			}
		}
		loss, err := trainer.Step(t.Context())
		must(t, err)
		choices := trainer.spec.Vocab
		if trainer.spec.Head == spec.ClassifierHead {
			choices = trainer.spec.Classes
		}
		if uniform := math.Log(float64(choices)); math.Abs(loss-uniform) > 1 {
			t.Errorf("%s: the first loss is %v nats, a uniform guess has %v", name, loss, uniform)
		}
		for _, p := range trainer.spec.Params() {
			after, err := trainer.Weights(p)
			must(t, err)
			if slices.Equal(before[p.Name], after) {
				t.Errorf("%s: %s is the same after a step", name, p.Name)
			}
		}
	}
}

// TestWordPieces: every word is one token for an encoder, control tokens stand around a text, and
// other words are [UNK].
func TestWordPieces(t *testing.T) {
	r, _, tok := recipeFor(t, tiny.MaskedName)
	for _, w := range r.model.Words() {
		encoded, err := tok.Encode(strings.ToUpper(w.Text), false)
		if err != nil || len(encoded) != 1 ||
			strings.TrimPrefix(tok.TokenText(encoded[0].ID), " ") != w.Text {
			t.Errorf("%q is %v, error %v; want one token", w.Text, encoded, err)
		}
	}
	encoded, err := tok.Encode("Mary convinced a parrot of [MASK] love.", true)
	must(t, err)
	var texts []string
	for _, e := range encoded {
		texts = append(texts, strings.TrimPrefix(tok.TokenText(e.ID), " "))
	}
	const want = "[CLS] mary convinced [UNK] [UNK] of [MASK] love . [SEP]"
	if got := strings.Join(texts, " "); got != want {
		t.Errorf("tokens %q, want %q", got, want)
	}
}

// TestFirstToken counts by hand: two rows of one head that looks at itself, and of one that looks
// at the first token.
func TestFirstToken(t *testing.T) {
	f := &FirstToken{Share: matrix(1, 2), MeanAttention: matrix(1, 2)}
	// [1,2,3,3], of which two tokens are real
	f.add([]float32{
		1, 0, 0, 0.25, 0.75, 0, 0, 0, 1,
		1, 0, 0, 0.75, 0.25, 0, 0, 0, 1,
	}, 3, 2)
	f.finish()
	want := &FirstToken{
		Texts: 1, Least: 0.5, Heads: 2, Share: [][]float64{{0.5, 1}},
		MeanAttention: [][]float64{{0.25, 0.75}},
	}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Errorf("first token (-want +got):\n%s", diff)
	}
}

var must = testhelp.Must // ends a test at an error
