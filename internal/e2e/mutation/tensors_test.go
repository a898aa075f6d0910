package mutation

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/headwater-ml/headwater/internal/mutant"
)

// container is a safetensors file taken apart.
type container struct {
	header *mutant.Value
	data   []byte
}

func openContainer(file []byte) container {
	n := binary.LittleEndian.Uint64(file)
	return container{mutant.Parse(file[8 : 8+n]), file[8+n:]}
}

// bytes puts the file together again, with a true length of the header.
func (c container) bytes() []byte {
	header := c.header.Text()
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(out, header...), c.data...)
}

// names returns the names of the tensors.
func (c container) names() []string {
	var names []string
	for _, key := range c.header.Keys {
		if key != "__metadata__" {
			names = append(names, key)
		}
	}
	return names
}

// inMessages returns how a message may name the tensors: by their names, an empty one in quotation
// marks, or without the first part, such as "transformer.", which the files of some models lack.
func (c container) inMessages() []string {
	var names []string
	for _, name := range c.names() {
		if name == "" {
			name = `""`
		}
		names = append(names, name)
		if _, rest, found := strings.Cut(name, "."); found && rest != "" {
			names = append(names, rest)
		}
	}
	return names
}

// add puts a float32 tensor at the end.
func (c *container) add(name string, shape []int, values []float32) {
	dims := &mutant.Value{List: true}
	for _, n := range shape {
		dims.Items = append(dims.Items, mutant.Scalar(fmt.Sprint(n)))
	}
	begin := len(c.data)
	for _, x := range values {
		c.data = binary.LittleEndian.AppendUint32(c.data, math.Float32bits(x))
	}
	entry := mutant.Object("dtype", `"F32"`)
	entry.Set("shape", dims)
	entry.Set("data_offsets", mutant.Scalar(fmt.Sprintf("[%d,%d]", begin, len(c.data))))
	c.header.Set(name, entry)
}

// poison makes some numbers of the data NaN, infinite, huge or negative.
func (c *container) poison(r *rand.Rand) {
	bad := []float32{
		float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)),
		math.MaxFloat32, -1, 2, 1e-40,
	}
	for range 1 + r.IntN(4) {
		if len(c.data) < 4 {
			return
		}
		at := r.IntN(len(c.data)/4) * 4
		binary.LittleEndian.PutUint32(c.data[at:], math.Float32bits(mutant.Pick(r, bad)))
	}
}

// claim makes one tensor as large as its header can say, with offsets to match, and returns how
// long the file would be.
func (c *container) claim(r *rand.Rand) int64 {
	const size = 40 << 30
	name := mutant.Pick(r, c.names())
	entry := c.header.Get(name)
	begin := int64(len(c.data))
	shape := entry.Get("shape")
	if shape == nil || len(shape.Items) == 0 {
		return 0
	}
	side := int64(math.Sqrt(size / 4))
	dims := &mutant.Value{List: true}
	for range shape.Items {
		dims.Items = append(dims.Items, mutant.Scalar("1"))
	}
	dims.Items[len(dims.Items)-1] = mutant.Scalar(fmt.Sprint(side))
	bytes := side * 4
	if len(dims.Items) > 1 {
		dims.Items[len(dims.Items)-2] = mutant.Scalar(fmt.Sprint(side))
		bytes *= side
	}
	entry.Set("shape", dims)
	entry.Set("dtype", mutant.Scalar(`"F32"`))
	entry.Set("data_offsets", mutant.Scalar(fmt.Sprintf("[%d,%d]", begin, begin+bytes)))
	return 8 + int64(len(c.header.Text())) + begin + bytes
}

// damage changes a safetensors file somewhere. The returned size is the length to which the file
// has to be extended, 0 for none.
func (c container) damage(r *rand.Rand) (file []byte, size int64) {
	switch r.IntN(8) {
	case 0:
		size = c.claim(r)
		return c.bytes(), size
	case 1, 2:
		c.poison(r)
		return c.bytes(), 0
	case 3:
		return mutant.Scratch(r, c.bytes()), 0
	case 4: // a length of the header that is not true
		file = c.bytes()
		lengths := []uint64{
			0, 1, 7, 1 << 20, 1 << 40, math.MaxUint64, uint64(len(file)), uint64(r.IntN(len(file))),
		}
		binary.LittleEndian.PutUint64(file, mutant.Pick(r, lengths))
		return file, 0
	case 5: // many tensors
		for i := range 2000 {
			c.header.Set(fmt.Sprintf("extra.%d", i),
				mutant.Object("dtype", `"F32"`, "shape", "[0]", "data_offsets", "[0,0]"))
		}
		return c.bytes(), 0
	default:
		c.header.Damage(r, nil)
		return c.bytes(), 0
	}
}
