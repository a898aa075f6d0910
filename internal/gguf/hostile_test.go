package gguf_test

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/gguf"
	"github.com/headwater-ml/headwater/internal/gguf/gguftest"
	"github.com/headwater-ml/headwater/internal/tokenizer"
)

// use opens a file in memory and reads all that a program reads of it. It returns the first error.
func use(b []byte) error {
	m, err := openBytes(b)
	if err != nil {
		return err
	}
	f, s, err := m.Read()
	if err != nil {
		return err
	}
	load, err := f.Loader("model.gguf", m.Weights, s)
	if err != nil {
		return m.Explain(err)
	}
	for _, p := range s.Params() {
		if err := load(p, func(int, []float32) {}); err != nil {
			return err
		}
	}
	if _, err := m.Hash(context.Background()); err != nil {
		return err
	}
	if !m.HasTokenizer() {
		return nil
	}
	if m.Pieces() != nil {
		_, err = openT5(m)
		return err
	}
	text, err := m.TokenizerJSON()
	if err != nil {
		return err
	}
	_, err = tokenizer.Parse(text, m.TokenizerName())
	return err
}

// A file that is cut anywhere is an error, without a panic.
func TestTruncated(t *testing.T) {
	whole := gguftest.Small().Bytes()
	must(t, use(whole))
	// The last tensor ends less than the alignment before the end of the file.
	for n := range len(whole) - 31 {
		if err := use(whole[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes are a model", n, len(whole))
		}
	}
}

// Bytes after the last tensor are read only where they fill it up to the alignment, as llama.cpp
// writes them: a file with more was joined with another, and its hash would read all of it.
func TestTail(t *testing.T) {
	whole := gguftest.Small().Bytes()
	for _, c := range []struct {
		name, want string
		tail       []byte
	}{
		{"zeros", "bytes follow tensor ", make([]byte, 64)},
		{"another file", "it is several GGUF files joined", whole},
	} {
		err := use(append(slices.Clone(whole), c.tail...))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s after the last tensor: error %v, want %q", c.name, err, c.want)
		}
	}
}

// header returns how many bytes of a file come before the tensor data.
func header(t *testing.T, file gguftest.File) int {
	t.Helper()
	size := 0
	for _, tensor := range file.Tensors {
		size += (len(tensor.Data) + 31) / 32 * 32
	}
	return len(file.Bytes()) - size
}

// maxGrown is how many bytes may be allocated while 4 files are read. 1.2 MB were seen.
const maxGrown = 4 << 20

// Every byte of the header is changed in several ways. The result is an error or a model, without a
// panic, and takes little memory.
func TestFlipped(t *testing.T) {
	file := gguftest.Small()
	whole := file.Bytes()
	var before, after runtime.MemStats
	for i := range header(t, file) {
		old := whole[i]
		runtime.ReadMemStats(&before)
		for _, x := range []byte{1, 0x80, 0xff, old} {
			whole[i] = old ^ x
			_ = use(whole)
		}
		runtime.ReadMemStats(&after)
		whole[i] = old
		// A tokenizer takes most of it: its tables have a smallest size.
		if grown := after.TotalAlloc - before.TotalAlloc; grown > maxGrown {
			t.Errorf("byte %d: %d bytes were allocated for 4 files of %d", i, grown, len(whole))
		}
	}
}

// Counts and lengths that the file has no room for are errors before memory is allocated.
func TestLyingCounts(t *testing.T) {
	le := binary.LittleEndian
	start := func(tensors, keys uint64) []byte {
		b := le.AppendUint32([]byte("GGUF"), 3)
		return le.AppendUint64(le.AppendUint64(b, tensors), keys)
	}
	name := func(b []byte, s string) []byte {
		return append(le.AppendUint64(b, uint64(len(s))), s...)
	}
	key := func(kind uint32) []byte { return le.AppendUint32(name(start(0, 1), "a"), kind) }
	array := func(element uint32, count uint64) []byte {
		return le.AppendUint64(le.AppendUint32(key(9), element), count)
	}
	tensor := func(kind uint32, offset uint64, axes ...uint64) []byte {
		b := le.AppendUint32(name(start(1, 0), "a"), uint32(len(axes)))
		for _, n := range axes {
			b = le.AppendUint64(b, n)
		}
		return append(le.AppendUint64(le.AppendUint32(b, kind), offset), make([]byte, 100)...)
	}
	nested := key(9)
	for range 10 {
		nested = le.AppendUint64(le.AppendUint32(nested, 9), 1)
	}
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"tensors", start(1<<60, 0), "1152921504606846976 tensors do not fit in the 8 bytes"},
		{"keys", start(0, 1<<60), "1152921504606846976 metadata entries do not fit"},
		{"many keys", append(start(0, 1<<20), make([]byte, 16<<20)...), "1048576 metadata entries, the limit is"},
		{"key length", le.AppendUint64(start(0, 1), 1<<40), "do not fit"},
		{"text length", append(le.AppendUint64(key(8), 1<<62), 1, 2, 3), "a text of 4611686018427387904 bytes"},
		{"array of texts", append(array(8, 1<<40), make([]byte, 64)...), "1099511627776 elements do not fit in the 64 bytes"},
		{"array of numbers", append(array(4, 17), make([]byte, 64)...), "17 elements do not fit"},
		{"array of arrays", append(array(9, 1<<59), make([]byte, 64)...), "elements do not fit"},
		{"nested", append(nested, make([]byte, 64)...), "nested more than 3 deep"},
		{"unknown type", append(key(13), make([]byte, 8)...), "unknown type 13, known are uint8,"},
		{"unknown element", append(array(77, 1), make([]byte, 8)...), "unknown type 77"},
		{"truth value", append(key(7), 2), "a truth value of 2"},
		{"axes", tensor(0, 0, 1, 1, 1, 1, 1), "5 axes, the limit is 4"},
		{"no axes", tensor(0, 0), "it has no axes"},
		{"axis of 0", tensor(0, 0, 4, 0), "one of its axes has no elements"},
		{"overflow", tensor(0, 0, 1<<32, 1<<32), "need more than the"},
		{"overflow to 0", tensor(0, 0, 4, 1<<62, 1<<2), "need more than the"},
		{"too long", tensor(0, 0, 1000), "axes [1000] of F32 need more than the"},
		{"row", tensor(2, 0, 33), "no multiple of the 32 of a block of Q4_0"},
		{"tensor type", tensor(99, 0, 4), "type 99 is unknown, known are 0 (F32), 1 (F16)"},
		{"offset", tensor(0, 1<<40, 4), "offset 1099511627776 is after the end of the file"},
		{"alignment", tensor(0, 4, 4), "begins at 4, which is no multiple of the alignment, 32"},
		{"hole", tensor(0, 64, 4), "leaves a hole from 0, the end of the header"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := gguf.FromBytes("model.gguf", c.file)
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), "model.gguf") {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
				t.Errorf("%d bytes were allocated", grown)
			}
		})
	}
}

// A header that is larger than any real one is refused before it is read, even if the file has all
// of it: a file with holes costs nothing on disk.
func TestLargeHeader(t *testing.T) {
	le := binary.LittleEndian
	array := func(element uint32, count uint64) []byte {
		b := le.AppendUint32([]byte("GGUF"), 3)
		b = le.AppendUint64(le.AppendUint64(b, 0), 1)       // no tensors and one key
		b = append(le.AppendUint64(b, 1), 'a')              // its name
		b = le.AppendUint32(le.AppendUint32(b, 9), element) // an array
		return le.AppendUint64(b, count)
	}
	const large = 40 << 20
	for _, c := range []struct {
		name  string
		start []byte
		most  uint64 // bytes that may be allocated
		want  string
	}{
		{"numbers", array(0, 1e9), 1 << 20, "1000000000 elements: the header has more than"},
		{"texts", array(8, 1e8), 1 << 20, "100000000 elements: the header has more than"},
		{"a text", le.AppendUint64(array(8, 1), 1e9), 1 << 20, "the header has more than"},
		{"numbers that fit", array(0, large), large + 2<<20, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "large.gguf")
			must(t, os.WriteFile(path, c.start, 0o600))
			if err := os.Truncate(path, 1_000_000_100); err != nil {
				t.Skip(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			f, err := gguf.OpenFile(path)
			runtime.ReadMemStats(&after)
			if err == nil {
				f.Close()
			}
			if (err == nil) != (c.want == "") ||
				err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if grown := after.TotalAlloc - before.TotalAlloc; grown > c.most {
				t.Errorf("%d bytes were allocated, want at most %d", grown, c.most)
			}
		})
	}
}

// What a file says that no model of it can be made of is an error that names the file, the key or
// tensor, its value, and what is known.
func TestRefused(t *testing.T) {
	whole := gguftest.Small()
	_, gemma := converted(t, "gemma3")
	_, scaled := converted(t, "llama3_rope")
	_, apertus := converted(t, "apertus")
	_, starCoder := converted(t, "gpt_bigcode")
	_, mpt := converted(t, "mpt")
	_, neox := converted(t, "gpt_neox")
	_, ministral := converted(t, "ministral3")
	for _, c := range []struct {
		name string
		file gguftest.File
		want []string
	}{
		{
			"no architecture", whole.With(key("general.architecture", nil)),
			[]string{"general.architecture is missing", "apertus, bert, bloom, cohere2"},
		},
		{
			"unknown architecture", whole.With(key("general.architecture", "mamba")),
			[]string{`general.architecture "mamba" is not supported`, "gemma2, gemma3, glm4, gpt-oss, gpt2"},
		},
		{
			"architecture of another type", whole.With(key("general.architecture", uint32(7))),
			[]string{"general.architecture 7 (uint32) is not supported"},
		},
		{"adapter", whole.With(key("general.type", "adapter")), []string{`general.type is "adapter"`}},
		{"missing key", whole.With(key("llama.embedding_length", nil)), []string{"key llama.embedding_length is missing"}},
		{
			"key of another type", whole.With(key("llama.embedding_length", "32")),
			[]string{`llama.embedding_length is "32"; it must be a whole number`},
		},
		{
			"truth value for a number", whole.With(key("llama.rope.freq_base", true)),
			[]string{"llama.rope.freq_base is true; it must be a number"},
		},
		{
			"activation without weights", apertus.With(key("xielu.alpha_p", nil)),
			[]string{"key xielu.alpha_p is missing; it must be a number for each of the 2 layers"},
		},
		{
			"weights of an activation", apertus.With(key("xielu.alpha_n", []float32{1})),
			[]string{"xielu.alpha_n is an array of 1 × float32", "a finite number for each of the 2 layers"},
		},
		{
			"slope of an activation", apertus.With(key("xielu.beta", float32(1))),
			[]string{"xielu.beta is 1 in layer 0; only 0.5 is supported"},
		},
		{
			"some keys for the heads",
			starCoder.With(key("starcoder.attention.head_count_kv", uint32(2))),
			[]string{"starcoder.attention.head_count_kv is 2; it must be 1 or 4"},
		},
		{
			"feed-forward width", mpt.With(key("mpt.feed_forward_length", uint32(32))),
			[]string{"mpt.feed_forward_length is 32; it must be 4 times mpt.embedding_length, 16"},
		},
		{
			"order of parts", neox.With(key("gptneox.use_parallel_residual", uint32(1))),
			[]string{"gptneox.use_parallel_residual is 1 (uint32); it must be true or false"},
		},
		{
			"growth without a scale", ministral.With(key("mistral3.rope.scaling.type", nil),
				key("mistral3.rope.scaling.factor", nil)),
			[]string{"is there without mistral3.rope.scaling.type, by which it counts"},
		},
		{
			"value out of range", whole.With(key("llama.block_count", uint32(0))),
			[]string{"num_hidden_layers is 0", "num_hidden_layers is llama.block_count of the file"},
		},
		{
			"a key that llama.cpp reads",
			whole.With(key("llama.attention.key_length_swa", uint32(1))),
			[]string{`key "llama.attention.key_length_swa" (1 (uint32)) is not supported`},
		},
		{
			"experts", whole.With(key("llama.expert_count", uint32(8))),
			[]string{"key llama.expert_used_count is missing; it must be a whole number"},
		},
		{
			"layers that differ", whole.With(key("llama.feed_forward_length", []uint32{64, 32})),
			[]string{"llama.feed_forward_length has 64 (uint32) for layer 0 and 32 (uint32)"},
		},
		{
			"scaling", whole.With(key("llama.rope.scaling.type", "tomorrow")),
			[]string{`llama.rope.scaling.type is "tomorrow"`, "linear, longrope, none, yarn"},
		},
		{
			"factor of YaRN", whole.With(key("llama.rope.scaling.attn_factor", float32(1.5))),
			[]string{"llama.rope.scaling.attn_factor is 1.5"},
		},
		{
			"factor below 1", whole.With(key("llama.rope.scaling.factor", float32(0.5))),
			[]string{
				"rope_scaling.factor is 0.5", "factor is llama.rope.scaling.factor of the file",
			},
		},
		{
			"window pattern", gemma.With(key("gemma3.attention.sliding_window_pattern", []bool{true})),
			[]string{"gemma3.attention.sliding_window_pattern is an array of 1 × bool", "3 layers"},
		},
		{
			"two rotations", scaled.With(key("llama.rope.scaling.factor", float32(2))),
			[]string{"rope_freqs.weight and llama.rope.scaling.type are both there"},
		},
		{"embedding missing", whole.Without("token_embd.weight"), []string{"tensor token_embd.weight is missing"}},
		{"tensor missing", whole.Without("blk.0.ffn_up.weight"), []string{"tensor blk.0.ffn_up.weight is missing"}},
		{
			"tensor of another shape", whole.With(key("llama.feed_forward_length", uint32(64))),
			[]string{
				"tensor blk.0.ffn_gate.weight has shape [32 32]; config.json makes it [64 32]",
				"config.json is the metadata of the file",
			},
		},
		{
			"unknown tensor",
			gguftest.File{
				Keys: whole.Keys, Tensors: slices.Concat(whole.Tensors, []gguftest.Tensor{
					gguftest.Float32("blk.0.surprise.weight", []int{8}, make([]float32, 8)),
				}),
			},
			[]string{`tensor "blk.0.surprise.weight" has no place in the architecture llama`},
		},
		{
			"tensor twice",
			gguftest.File{
				Keys: whole.Keys, Tensors: slices.Concat(whole.Tensors, whole.Tensors[:1]),
			},
			[]string{`tensor "blk.0.attn_k.weight" is in the file twice`},
		},
		{
			"key twice",
			gguftest.File{
				Keys: slices.Concat(whole.Keys, whole.Keys[:1]), Tensors: whole.Tensors,
			},
			[]string{`key "general.architecture" is in the file twice`},
		},
		{"version", gguftest.File{Version: 1}, []string{"GGUF version 1 is not supported; supported are 2 and 3"}},
		{"big-endian", gguftest.File{Version: 3 << 24}, []string{"big-endian byte order, which is not supported"}},
		{
			"alignment", whole.With(key("general.alignment", uint32(12))),
			[]string{"general.alignment is 12 (uint32); it must be a power of 2"},
		},
		{
			"tokenizer", whole.With(key("tokenizer.ggml.model", "rwkv")),
			[]string{`tokenizer.ggml.model is "rwkv"`, "supported are bert, gpt2, llama"},
		},
		{
			"pre", whole.With(key("tokenizer.ggml.pre", "tomorrow")),
			[]string{`tokenizer.ggml.pre is "tomorrow"`, "llama-bpe", "qwen2", "smollm"},
		},
		{"no pre", whole.With(key("tokenizer.ggml.pre", nil)), []string{"key tokenizer.ggml.pre is missing", "smollm"}},
		{"no tokens", whole.With(key("tokenizer.ggml.tokens", nil)), []string{"key tokenizer.ggml.tokens is missing"}},
		{
			"types", whole.With(key("tokenizer.ggml.token_type", []int32{1})),
			[]string{"tokenizer.ggml.token_type is an array of 1 × int32", "one for each token"},
		},
		{
			"id", whole.With(key("tokenizer.ggml.eos_token_id", uint32(4000))),
			[]string{"tokenizer.ggml.eos_token_id is 4000 (uint32)", "from 0 to 31"},
		},
		{
			"begin without a token", whole.With(key("tokenizer.ggml.add_bos_token", true)),
			[]string{"key tokenizer.ggml.bos_token_id is missing"},
		},
		{
			"merge", whole.With(key("tokenizer.ggml.merges", []string{"th"})),
			[]string{`tokenizer.ggml.merges[0] is "th"`, "two tokens with a space between"},
		},
		{
			"merge of unknown tokens", whole.With(key("tokenizer.ggml.merges", []string{"x y"})),
			[]string{"tokenizer.ggml", "merges[0]", `"xy" is not in vocab`},
		},
		{
			"template", whole.With(key("tokenizer.chat_template", uint8(1))),
			[]string{"tokenizer.chat_template is 1 (uint8); it must be a text"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := use(c.file.Bytes())
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range append(c.want, "model.gguf") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q, want one with %q", err, want)
				}
			}
		})
	}
}

// A type that cannot be converted is named with those that can, before a tensor is read.
func TestUnknownQuantisation(t *testing.T) {
	file := gguftest.Small()
	for i := range file.Tensors {
		if file.Tensors[i].Name == "output_norm.weight" { // 32 numbers in 4 bytes each
			file.Tensors[i].Type = 26
		}
	}
	f, err := gguf.FromBytes("model.gguf", file.Bytes())
	must(t, err)
	_, err = gguf.NewModel(f)
	const want = `tensor "output_norm.weight" has type I32, which cannot be converted; types that ` +
		`can are F32, F16, Q4_0`
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

// Other files than GGUF are named as what they are.
func TestNotGGUF(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "not a GGUF file",
		"PK\x03\x04 a zip file": `it begins with "PK\x03\x04"`,
		"version https://git-lfs.github.com/spec/v1": "this is a Git LFS pointer",
	} {
		path := filepath.Join(t.TempDir(), "model.gguf")
		must(t, os.WriteFile(path, []byte(text), 0o644))
		if _, err := gguf.Open(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

func FuzzOpen(f *testing.F) {
	file := gguftest.Small()
	f.Add(file.Bytes())
	f.Add(file.With(gguftest.Key{Name: "tokenizer.ggml.model", Value: "bert"}).Bytes())
	f.Add(smallT5(f).Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < 1<<20 {
			_ = use(b)
		}
	})
}
