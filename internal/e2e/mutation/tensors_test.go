package mutation

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// container is a safetensors file taken apart.
type container struct {
	header *value
	data   []byte
}

func openContainer(file []byte) container {
	n := binary.LittleEndian.Uint64(file)
	return container{parse(file[8 : 8+n]), file[8+n:]}
}

// bytes puts the file together again, with a true length of the header.
func (c container) bytes() []byte {
	header := c.header.text()
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(out, header...), c.data...)
}

// names returns the names of the tensors.
func (c container) names() []string {
	var names []string
	for _, key := range c.header.keys {
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
	dims := &value{list: true}
	for _, n := range shape {
		dims.items = append(dims.items, scalar(fmt.Sprint(n)))
	}
	begin := len(c.data)
	for _, x := range values {
		c.data = binary.LittleEndian.AppendUint32(c.data, math.Float32bits(x))
	}
	entry := object("dtype", `"F32"`)
	entry.set("shape", dims)
	entry.set("data_offsets", scalar(fmt.Sprintf("[%d,%d]", begin, len(c.data))))
	c.header.set(name, entry)
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
		binary.LittleEndian.PutUint32(c.data[at:], math.Float32bits(pick(r, bad)))
	}
}

// claim makes one tensor as large as its header can say, with offsets to match, and returns how
// long the file would be.
func (c *container) claim(r *rand.Rand) int64 {
	const size = 40 << 30
	name := pick(r, c.names())
	entry := c.header.get(name)
	begin := int64(len(c.data))
	shape := entry.get("shape")
	if shape == nil || len(shape.items) == 0 {
		return 0
	}
	side := int64(math.Sqrt(size / 4))
	dims := &value{list: true}
	for range shape.items {
		dims.items = append(dims.items, scalar("1"))
	}
	dims.items[len(dims.items)-1] = scalar(fmt.Sprint(side))
	bytes := side * 4
	if len(dims.items) > 1 {
		dims.items[len(dims.items)-2] = scalar(fmt.Sprint(side))
		bytes *= side
	}
	entry.set("shape", dims)
	entry.set("dtype", scalar(`"F32"`))
	entry.set("data_offsets", scalar(fmt.Sprintf("[%d,%d]", begin, begin+bytes)))
	return 8 + int64(len(c.header.text())) + begin + bytes
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
		return scratch(r, c.bytes()), 0
	case 4: // a length of the header that is not true
		file = c.bytes()
		lengths := []uint64{
			0, 1, 7, 1 << 20, 1 << 40, math.MaxUint64, uint64(len(file)), uint64(r.IntN(len(file))),
		}
		binary.LittleEndian.PutUint64(file, pick(r, lengths))
		return file, 0
	case 5: // many tensors
		for i := range 2000 {
			c.header.set(fmt.Sprintf("extra.%d", i),
				object("dtype", `"F32"`, "shape", "[0]", "data_offsets", "[0,0]"))
		}
		return c.bytes(), 0
	default:
		c.header.damage(r)
		return c.bytes(), 0
	}
}
