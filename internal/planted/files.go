package planted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"time"

	"github.com/headwater-ml/headwater/internal/checkpoint"
)

// Files returns the circuit as a checkpoint in the directory layout of Hugging Face: config.json,
// tokenizer.json and model.safetensors. The bytes are the same every time.
func (c *Circuit) Files() fs.FS {
	n := c.wire()
	var weights bytes.Buffer
	if err := checkpoint.Write(&weights, n.tensors(), nil); err != nil {
		panic(err) // names and shapes are ours
	}
	return memory{
		"config.json":       encode(n.config()),
		"tokenizer.json":    encode(tokenizerFile()),
		"model.safetensors": weights.Bytes(),
	}
}

// encode returns v as JSON.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers
	}
	return b
}

// config returns the content of config.json.
func (n *network) config() any {
	return map[string]any{
		"architectures": []string{"GPT2LMHeadModel"}, "model_type": "gpt2",
		"vocab_size": specials + len(words), "n_positions": context,
		"n_embd": n.width(), "n_layer": len(n.blocks), "n_head": len(n.blocks[0].heads),
		"n_inner": 1, "activation_function": "relu",
		"layer_norm_epsilon": epsilon, "scale_attn_weights": false, "tie_word_embeddings": false,
		"bos_token_id": bos,
	}
}

// tokenizerFile returns the content of tokenizer.json: words are separated by spaces, and each
// token includes the space before its word.
func tokenizerFile() any {
	type object = map[string]any
	bytewise := object{
		"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true,
		"use_regex": true,
	}
	vocab := object{"<bos>": bos, "<unk>": unk}
	for i, w := range words {
		vocab["Ġ"+w] = specials + i
	}
	added := func(id int, content string) object {
		return object{"id": id, "content": content, "special": true}
	}
	first, text := object{"SpecialToken": object{
		"id":      "<bos>",
		"type_id": 0,
	}}, object{"Sequence": object{"id": "A", "type_id": 0}}
	return object{
		"version": "1.0", "added_tokens": []object{added(bos, "<bos>"), added(unk, "<unk>")},
		"pre_tokenizer": bytewise, "decoder": bytewise,
		"post_processor": object{
			"type": "TemplateProcessing", "single": []object{first, text},
			"pair": []object{first, text, {"Sequence": object{"id": "B", "type_id": 1}}},
			"special_tokens": object{"<bos>": object{
				"id": "<bos>", "ids": []int{bos},
				"tokens": []string{"<bos>"},
			}},
		},
		"model": object{"type": "WordLevel", "vocab": vocab, "unk_token": "<unk>"},
	}
}

// width is D: two numbers for each feature, rounded up so that the heads divide it.
func (n *network) width() int {
	heads := len(n.blocks[0].heads)
	return (2*n.features + 2*heads - 1) / (2 * heads) * (2 * heads)
}

// tensors returns the tensors of the checkpoint, with the names of GPT-2.
func (n *network) tensors() []checkpoint.Tensor {
	d, v := n.width(), specials+len(words)
	embedding, positions, head := newMatrix(v, d), newMatrix(context, d), newMatrix(v, d)
	for i := range words {
		embedding.write(specials+i, int(n.word)+i, 1)
		head.pair(specials+i, int(n.answer)+i, strength/2)
	}
	for p := range context {
		positions.write(p, int(n.position)+p, 1)
	}
	all := []checkpoint.Tensor{
		embedding.named("transformer.wte.weight"), positions.named("transformer.wpe.weight"),
		head.named("lm_head.weight"),
	}
	all = append(all, norm("transformer.ln_f", d)...)
	for l, b := range n.blocks {
		all = append(all, b.tensors(fmt.Sprintf("transformer.h.%d.", l), d)...)
	}
	return all
}

// tensors returns the tensors of a layer of width d.
func (b *block) tensors(prefix string, d int) []checkpoint.Tensor {
	projections, output := newMatrix(d, 3*d), newMatrix(d, d)
	e := d / len(b.heads)
	for i, h := range b.heads {
		for part, entries := range [][]entry{h.query, h.key, h.value} {
			for _, x := range entries {
				projections.read(x.from, part*d+i*e+x.to, x.value)
			}
		}
		for _, x := range h.output {
			output.write(i*e+x.from, x.to, x.value)
		}
	}
	up, down := newMatrix(d, 1), newMatrix(1, d)
	for _, x := range b.up {
		up.read(x.from, x.to, x.value)
	}
	for _, x := range b.down {
		down.write(x.from, x.to, x.value)
	}
	all := []checkpoint.Tensor{
		projections.named(prefix + "attn.c_attn.weight"), vector(prefix+"attn.c_attn.bias", 3*d, 0),
		output.named(prefix + "attn.c_proj.weight"), vector(prefix+"attn.c_proj.bias", d, 0),
		up.named(prefix + "mlp.c_fc.weight"), vector(prefix+"mlp.c_fc.bias", 1, b.threshold),
		down.named(prefix + "mlp.c_proj.weight"), vector(prefix+"mlp.c_proj.bias", d, 0),
	}
	return append(append(all, norm(prefix+"ln_1", d)...), norm(prefix+"ln_2", d)...)
}

// norm returns the tensors of a norm whose bias is zero.
func norm(name string, d int) []checkpoint.Tensor {
	return []checkpoint.Tensor{vector(name+".weight", d, gain), vector(name+".bias", d, 0)}
}

// vector returns an array of n equal numbers.
func vector(name string, n int, value float64) checkpoint.Tensor {
	data := make([]float32, n)
	for i := range data {
		data[i] = float32(value)
	}
	return checkpoint.Tensor{Name: name, Shape: []int{n}, Data: data}
}

// matrix is [rows,cols].
type matrix struct {
	rows, cols int
	data       []float32
}

func newMatrix(rows, cols int) matrix { return matrix{rows, cols, make([]float32, rows*cols)} }

func (m matrix) named(name string) checkpoint.Tensor {
	return checkpoint.Tensor{Name: name, Shape: []int{m.rows, m.cols}, Data: m.data}
}

// write makes a row add value units of a feature to the residual stream.
func (m matrix) write(row, feature int, value float64) { m.pair(row, feature, value*unit) }

// pair sets a value and its negative in the two columns of a feature.
func (m matrix) pair(row, feature int, value float64) {
	m.data[row*m.cols+2*feature] += float32(value)
	m.data[row*m.cols+2*feature+1] -= float32(value)
}

// read makes a column the value of a feature after a norm, times a factor.
func (m matrix) read(feature, col int, factor float64) {
	m.data[2*feature*m.cols+col] += float32(factor / 2)
	m.data[(2*feature+1)*m.cols+col] -= float32(factor / 2)
}

// memory is a file system in memory: the content of each file, by name.
type memory map[string][]byte

// Open opens a file.
func (m memory) Open(name string) (fs.File, error) {
	data, ok := m[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return memoryFile{bytes.NewReader(data), name}, nil
}

// memoryFile is an open file and its description.
type memoryFile struct {
	*bytes.Reader
	name string
}

func (f memoryFile) Stat() (fs.FileInfo, error) { return f, nil }
func (memoryFile) Close() error                 { return nil }
func (f memoryFile) Name() string               { return f.name }
func (memoryFile) Mode() fs.FileMode            { return 0o444 }
func (memoryFile) ModTime() time.Time           { return time.Time{} }
func (memoryFile) IsDir() bool                  { return false }
func (memoryFile) Sys() any                     { return nil }
