// Package gguftest writes GGUF files for tests: any metadata and tensors, and small checkpoints of
// Hugging Face converted as convert_hf_to_gguf.py of llama.cpp converts them.
//
// It shares no code with package gguf, so that a mistake there is not made here too.
package gguftest

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/internal/message"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("gguftest")

// File is the content of a GGUF file.
type File struct {
	// Version is the version of the format, 3 if it is 0.
	Version uint32
	// Keys is the metadata.
	Keys []Key
	// Tensors are written in this order.
	Tensors []Tensor
}

// Key is an entry of the metadata. The value is a bool, string, float32, float64, a whole number of
// a sized type, or a slice of one of these.
type Key struct {
	Name  string
	Value any
}

// Tensor is a tensor with its bytes as the file has them.
type Tensor struct {
	Name  string
	Shape []int // outermost axis first
	Type  uint32
	Data  []byte
}

// Float32 returns a tensor of type F32.
func Float32(name string, shape []int, values []float32) Tensor {
	t := Tensor{Name: name, Shape: shape}
	for _, x := range values {
		t.Data = binary.LittleEndian.AppendUint32(t.Data, math.Float32bits(x))
	}
	return t
}

// Small returns a Llama of one layer, whose matrices are zeros in Q4_0, with a byte-level tokenizer
// of the 26 letters: 9 KB that have all that a file can have.
func Small() File {
	const width, vocabulary = 32, 32
	f := File{Keys: append([]Key{
		{"general.architecture", "llama"},
		{"general.type", "model"},
		{"llama.block_count", uint32(1)},
		{"llama.context_length", uint32(64)},
		{"llama.embedding_length", uint32(width)},
		{"llama.feed_forward_length", uint32(width)},
		{"llama.attention.head_count", uint32(2)},
		{"llama.attention.head_count_kv", uint32(1)},
		{"llama.attention.layer_norm_rms_epsilon", float32(1e-5)},
		{"llama.rope.freq_base", float32(10000)},
		{"llama.rope.dimension_count", uint32(16)},
	}, Words()...)}
	for _, name := range []string{"blk.0.attn_norm", "blk.0.ffn_norm", "output_norm"} {
		f.Tensors = append(f.Tensors,
			Float32(name+".weight", []int{width}, make([]float32, width)))
	}
	for name, rows := range map[string]int{
		"token_embd": vocabulary, "blk.0.attn_q": width, "blk.0.attn_k": width / 2,
		"blk.0.attn_v": width / 2, "blk.0.attn_output": width, "blk.0.ffn_gate": width,
		"blk.0.ffn_up": width, "blk.0.ffn_down": width,
	} {
		f.Tensors = append(f.Tensors, Tensor{
			Name: name + ".weight", Shape: []int{rows, width}, Type: 2, Data: make([]byte, 18*rows),
		})
	}
	slices.SortFunc(f.Tensors, func(a, b Tensor) int { return strings.Compare(a.Name, b.Name) })
	return f
}

// Words returns the keys of a byte-level tokenizer with 32 tokens: the letters, a space, "th",
// "the", " the", and the control tokens <end> (0) and <user> (1).
func Words() []Key {
	tokens := []string{"<end>", "<user>"}
	for _, c := range "abcdefghijklmnopqrstuvwxyzĠ" {
		tokens = append(tokens, string(c))
	}
	tokens = append(tokens, "th", "the", "Ġthe")
	types := slices.Repeat([]int32{1}, len(tokens))
	types[0], types[1] = 3, 3
	return []Key{
		{"tokenizer.ggml.model", "gpt2"},
		{"tokenizer.ggml.pre", "smollm"},
		{"tokenizer.ggml.tokens", tokens},
		{"tokenizer.ggml.token_type", types},
		{"tokenizer.ggml.merges", []string{"t h", "th e", "Ġ the"}},
		{"tokenizer.ggml.eos_token_id", uint32(0)},
		{"tokenizer.ggml.unknown_token_id", uint32(1)},
		{"tokenizer.chat_template", "<user>{{ messages[0].content }}<end>"},
	}
}

// With returns a copy of f in which keys have other values. A value of nil removes the key; a key
// that f lacks is added.
func (f File) With(keys ...Key) File {
	all := append([]Key(nil), f.Keys...)
	for _, k := range keys {
		at := -1
		for i := range all {
			if all[i].Name == k.Name {
				at = i
			}
		}
		switch {
		case at >= 0 && k.Value == nil:
			all = append(all[:at], all[at+1:]...)
		case at >= 0:
			all[at] = k
		case k.Value != nil:
			all = append(all, k)
		}
	}
	f.Keys = all
	return f
}

// Without returns a copy of f without a tensor.
func (f File) Without(tensor string) File {
	var rest []Tensor
	for _, t := range f.Tensors {
		if t.Name != tensor {
			rest = append(rest, t)
		}
	}
	f.Tensors = rest
	return f
}

const alignment = 32

// Bytes returns the file. It panics if a value has a type that the format does not have.
func (f File) Bytes() []byte {
	le := binary.LittleEndian
	version := f.Version
	if version == 0 {
		version = 3
	}
	b := le.AppendUint32([]byte("GGUF"), version)
	b = le.AppendUint64(b, uint64(len(f.Tensors)))
	b = le.AppendUint64(b, uint64(len(f.Keys)))
	for _, k := range f.Keys {
		kind, value := encode(k.Value)
		b = le.AppendUint32(text(b, k.Name), kind)
		b = append(b, value...)
	}
	offset := 0
	for _, t := range f.Tensors {
		b = le.AppendUint32(text(b, t.Name), uint32(len(t.Shape)))
		for i := len(t.Shape) - 1; i >= 0; i-- {
			b = le.AppendUint64(b, uint64(t.Shape[i]))
		}
		b = le.AppendUint64(le.AppendUint32(b, t.Type), uint64(offset))
		offset = aligned(offset + len(t.Data))
	}
	for _, t := range f.Tensors {
		b = append(append(b, make([]byte, aligned(len(b))-len(b))...), t.Data...)
	}
	return append(b, make([]byte, aligned(len(b))-len(b))...)
}

func aligned(n int) int { return (n + alignment - 1) / alignment * alignment }

func text(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...)
}

// encode returns the type of a value and its bytes.
func encode(value any) (uint32, []byte) {
	le := binary.LittleEndian
	switch v := value.(type) {
	case uint8:
		return 0, []byte{v}
	case int8:
		return 1, []byte{byte(v)}
	case uint16:
		return 2, le.AppendUint16(nil, v)
	case int16:
		return 3, le.AppendUint16(nil, uint16(v))
	case uint32:
		return 4, le.AppendUint32(nil, v)
	case int32:
		return 5, le.AppendUint32(nil, uint32(v))
	case float32:
		return 6, le.AppendUint32(nil, math.Float32bits(v))
	case bool:
		if v {
			return 7, []byte{1}
		}
		return 7, []byte{0}
	case string:
		return 8, text(nil, v)
	case uint64:
		return 10, le.AppendUint64(nil, v)
	case int64:
		return 11, le.AppendUint64(nil, uint64(v))
	case float64:
		return 12, le.AppendUint64(nil, math.Float64bits(v))
	case []string:
		return 9, array(8, v)
	case []int32:
		return 9, array(5, v)
	case []byte:
		return 9, array(0, v)
	case []uint32:
		return 9, array(4, v)
	case []float32:
		return 9, array(6, v)
	case []bool:
		return 9, array(7, v)
	case [][]int32:
		return 9, array(9, v)
	}
	panic(fmt.Sprintf("gguftest: a value of type %T", value))
}

// array returns an array with elements of a type.
func array[T any](kind uint32, list []T) []byte {
	b := binary.LittleEndian.AppendUint32(nil, kind)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(list)))
	for _, x := range list {
		_, value := encode(x)
		b = append(b, value...)
	}
	return b
}
