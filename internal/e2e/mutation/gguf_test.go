package mutation

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/gguf/gguftest"
	"github.com/headwater-ml/headwater/internal/mutant"
)

// readGGUF returns the checkpoints of the repository at root that GGUF can express, converted, and
// a quantised one that brings a tokenizer.
func readGGUF(root string) ([]gguftest.File, error) {
	var files []gguftest.File
	for _, name := range gguftest.Convertible {
		file, err := convert(filepath.Join(root, "models/testdata/goldens", name))
		if err != nil {
			return nil, fmt.Errorf("mutation: %s as GGUF: %w", name, err)
		}
		files = append(files, file)
	}
	small := gguftest.Small()
	r := rand.New(rand.NewPCG(1, 1))
	for _, t := range small.Tensors {
		for i := range t.Data {
			t.Data[i] = byte(r.Uint32())
		}
		for block := range slices.Chunk(t.Data, 18) { // Q4_0 begins with its scale, here 2^-6
			if t.Type == q4 {
				binary.LittleEndian.PutUint16(block, 0x2400)
			}
		}
		for i := 0; t.Type == f32 && i < len(t.Data); i += 4 {
			binary.LittleEndian.PutUint32(t.Data[i:], math.Float32bits(1))
		}
	}
	return append(files, small), nil
}

func convert(dir string) (gguftest.File, error) {
	d, err := checkpoint.OpenDir(dir)
	if err != nil {
		return gguftest.File{}, err
	}
	defer d.Close()
	return gguftest.Convert(d)
}

// The types of tensors in the files here.
const (
	f32 = 0
	q4  = 2 // Q4_0
)

// mutateGGUF damages a model in one file.
func mutateGGUF(r *rand.Rand, s *Seeds) Mutant {
	seed := mutant.Pick(r, s.gguf)
	if r.IntN(3) == 0 {
		seed = s.gguf[len(s.gguf)-1] // the one with a tokenizer
	}
	f := ggufFile{gguftest.File{
		Version: seed.Version, Keys: slices.Clone(seed.Keys), Tensors: slices.Clone(seed.Tensors),
	}}
	names := f.names()
	file, size := f.damage(r)
	m := Mutant{Output: "out.safetensors"}
	path := mutant.Pick(r, []string{"model.gguf", "model.gguf", "model.gguf", "m-00001-of-00002.gguf"})
	if f.has("tokenizer.ggml.model") && r.IntN(3) > 0 {
		m.Args = []string{"tokenize", "--tokenizer", path}
		m.Stdin = []byte("\"the the\"\n\"\\u0000<end>\"\n")
		m.Output = ""
	} else {
		m.Args = modelRun(r)
		m.Args[slices.Index(m.Args, "model")] = path
	}
	m.Files = map[string][]byte{path: file}
	if size > 0 {
		m.Sparse = map[string]int64{path: size}
	}
	m.Names = [][]string{
		append([]string{path}, tapWords...),
		slices.Concat(names, f.names(), ggufWords, tapWords),
	}
	return m
}

// ggufWords are what is said of a file of which no key and no tensor can be named.
var ggufWords = []string{
	"byte", "GGUF", "metadata entr", "tensor", "key", "version", "truncated", "part", "token",
	"of-00002",
}

// ggufFile is a file to be damaged. Its keys and tensors are copies; their values are not.
type ggufFile struct{ gguftest.File }

func (f ggufFile) has(key string) bool {
	return slices.ContainsFunc(f.Keys, func(k gguftest.Key) bool { return k.Name == key })
}

// names returns the names of keys and tensors as messages have them.
func (f ggufFile) names() []string {
	var names []string
	for _, k := range f.Keys {
		names = append(names, k.Name)
	}
	for _, t := range f.Tensors {
		names = append(names, t.Name)
	}
	// A message quotes what is not printed as it stands.
	return slices.DeleteFunc(names, func(s string) bool { return s == "" || len(s) > 60 })
}

// damage changes the file somewhere. The returned size is the length to which the file has to be
// extended, 0 for none.
func (f *ggufFile) damage(r *rand.Rand) (file []byte, size int64) {
	switch r.IntN(10) {
	case 0:
		return f.claim(r)
	case 1:
		f.poison(r)
	case 2:
		return mutant.Scratch(r, f.Bytes()), 0
	case 3: // a number in the header that is not true: the counts stand at 8 and 16
		file = f.Bytes()
		at := mutant.Pick(r, []int{4, 8, 16, 24, 8 * r.IntN(len(file)/64)})
		lies := []uint64{
			0, 1, 2, 7, 255, 1 << 16, 1 << 31, 1 << 40, math.MaxInt64, math.MaxUint64,
			uint64(len(file)),
		}
		binary.LittleEndian.PutUint64(file[at:], mutant.Pick(r, lies))
		return file, 0
	case 4: // many keys, or many tensors of nothing
		for i := range 2000 {
			if name := fmt.Sprint("extra.", i); r.IntN(2) == 0 {
				f.Keys = append(f.Keys, gguftest.Key{Name: name, Value: int32(i)})
			} else {
				f.Tensors = append(f.Tensors, gguftest.Float32(name, []int{0}, nil))
			}
		}
	case 5, 6:
		for range 1 + r.IntN(3) {
			f.damageTensor(r)
		}
	default:
		for range 1 + r.IntN(3) {
			f.damageKey(r)
		}
	}
	return f.Bytes(), 0
}

// claim makes one tensor as large as the file can say, and returns how long the file would be.
func (f *ggufFile) claim(r *rand.Rand) ([]byte, int64) {
	const side = 100_000
	i := r.IntN(len(f.Tensors))
	f.Tensors[i].Shape = slices.Clone(f.Tensors[i].Shape)
	bytes := int64(4)
	for k := range min(2, len(f.Tensors[i].Shape)) {
		f.Tensors[i].Shape[k] = side
		bytes *= side
	}
	f.Tensors[i].Type = f32
	file := f.Bytes()
	return file, int64(len(file)) + bytes
}

// poison makes some numbers of a tensor NaN, infinite, huge or negative.
func (f *ggufFile) poison(r *rand.Rand) {
	bad := []uint32{0x7fc00000, 0x7f800000, 0xff800000, 0x7f7fffff, 0xbf800000, 0x7c007c00, 1}
	for range 1 + r.IntN(4) {
		t := &f.Tensors[r.IntN(len(f.Tensors))]
		if len(t.Data) < 4 {
			continue
		}
		t.Data = slices.Clone(t.Data)
		binary.LittleEndian.PutUint32(t.Data[r.IntN(len(t.Data)/4)*4:], mutant.Pick(r, bad))
	}
}

// damageTensor changes one tensor.
func (f *ggufFile) damageTensor(r *rand.Rand) {
	i := r.IntN(len(f.Tensors))
	t := &f.Tensors[i]
	shape := slices.Clone(t.Shape)
	switch r.IntN(7) {
	case 0:
		f.Tensors = slices.Delete(f.Tensors, i, i+1)
		if len(f.Tensors) == 0 {
			f.Tensors = append(f.Tensors, gguftest.Float32("a", []int{1}, []float32{1}))
		}
		return
	case 1:
		f.Tensors = append(f.Tensors, *t) // twice
		return
	case 2:
		t.Name = mutant.Pick(r, []string{
			"", strings.ToUpper(t.Name), t.Name + ".weight", "blk.99.attn_q.weight", "a\x00b",
			"\xff", "<script>", strings.Repeat("a", 70_000),
		})
	case 3: // another type: known ones of other sizes, old ones, and none
		t.Type = mutant.Pick(r, []uint32{
			0, 1, 2, 3, 4, 6, 8, 10, 12, 14, 15, 20, 24, 30, 99, math.MaxUint32,
		})
	case 4:
		slices.Reverse(shape)
		t.Shape = shape
	case 5:
		k := r.IntN(len(shape) + 1)
		if k == len(shape) {
			shape = append(shape, mutant.Pick(r, []int{0, 1, 2}))
		} else {
			shape[k] = int(mutant.Perturb(r, int64(shape[k])))
		}
		t.Shape = shape
	case 6:
		t.Data = t.Data[:r.IntN(len(t.Data)+1)]
	}
}

// ggufValues are values that a file may hold where something else belongs.
var ggufValues = []any{
	uint8(0), int8(-1), uint16(7), int16(-7), uint32(0), uint32(1), uint32(3), int32(-1),
	uint32(65536), uint32(math.MaxUint32), int64(math.MinInt64), uint64(math.MaxUint64),
	uint64(1 << 40), float32(0), float32(-1), float32(1e-40), float32(math.NaN()),
	float32(math.Inf(1)), math.MaxFloat64, true, false, "", "none", "llama", "bert", "gpt2", "\xff",
	"a\x00b", "{% for x in range(10**9) %}{{ x }}{% endfor %}", strings.Repeat("a", 100_000),
	[]string{},
	[]string{"a", "a"},
	[]string{"", "\xff"},
	[]int32{},
	[]int32{-1, 1 << 30},
	[]uint32{1, 2, 3},
	[]float32{float32(math.NaN())},
	[]bool{true, false},
	[][]int32{{1}, {}},
}

// damageKey changes one entry of the metadata.
func (f *ggufFile) damageKey(r *rand.Rand) {
	if len(f.Keys) == 0 {
		return
	}
	i := r.IntN(len(f.Keys))
	k := &f.Keys[i]
	switch r.IntN(8) {
	case 0:
		f.Keys = slices.Delete(f.Keys, i, i+1)
	case 1:
		f.Keys = append(f.Keys, gguftest.Key{Name: k.Name, Value: mutant.Pick(r, ggufValues)})
	case 2:
		k.Name = mutant.Pick(r, []string{strings.ToUpper(k.Name), k.Name + "s", "", "a\x00b", "\xff"})
	case 3:
		k.Value = mutant.Pick(r, f.Keys).Value
	case 4, 5, 6:
		k.Value = perturbed(r, k.Value)
	default:
		k.Value = mutant.Pick(r, ggufValues)
	}
}

// perturbed returns a value of the same type that is nearly the given one.
func perturbed(r *rand.Rand, value any) any {
	switch v := value.(type) {
	case uint32:
		return uint32(mutant.Perturb(r, int64(v)))
	case int32:
		return int32(mutant.Perturb(r, int64(v)))
	case float32:
		return mutant.Pick(r, []float32{-v, 2 * v, 0, v * 1e30, v * 1e-30, float32(math.Inf(-1))})
	case bool:
		return !v
	case string:
		return mutant.Pick(r, []string{v + "x", strings.ToUpper(v), v + v, "", v[:len(v)/2]})
	case []string:
		others := []string{"", "\xff", "the the", "Ġ", strings.Repeat("a", 70_000)}
		return perturbedList(r, v, others)
	case []int32:
		return perturbedList(r, v, []int32{-1, 0, 2, 6, 7, math.MaxInt32})
	case []float32:
		return perturbedList(r, v, []float32{float32(math.NaN()), 1e30, -1})
	}
	return value
}

// perturbedList returns a list that is shorter, longer, or has another element.
func perturbedList[T any](r *rand.Rand, list, others []T) []T {
	list = slices.Clone(list)
	if len(list) == 0 {
		return others
	}
	i := r.IntN(len(list))
	switch r.IntN(5) {
	case 0:
		return list[:i]
	case 1:
		return append(list, list...)
	case 2:
		return append(list, mutant.Pick(r, others))
	case 3:
		list[i] = mutant.Pick(r, list)
	default:
		list[i] = mutant.Pick(r, others)
	}
	return list
}
