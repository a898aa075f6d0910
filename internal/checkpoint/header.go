package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/internal/jsonread"
)

// maxAxes is more axes than any model has. It limits the work for a hostile shape.
const maxAxes = 16

// maxTensors is how many tensors a file may have. It is more than the 91 thousand that the largest
// published model has in all of its shards together. Without this limit, a header of the largest
// allowed size could name a million tensors, which would take a gigabyte of memory.
const maxTensors = 1 << 17

// parse fills the tensors and the metadata of f, which has one part, from the header. It checks
// that the tensors fill the data without gaps and without overlap. It refuses what would be read in
// two ways: text that is not UTF-8, keys that come twice, and bytes that no tensor or two tensors
// have.
func (f *File) parse(header []byte) error {
	r := jsonread.New(header)
	f.tensors = make(map[string]entry)
	err := r.Object(func(name string) error {
		if name == "__metadata__" {
			return f.parseMetadata(r)
		}
		// Before the entry is read: it would take memory.
		if len(f.tensors) == maxTensors {
			return fmt.Errorf("more than %d tensors, which is the limit for one file", maxTensors)
		}
		e, err := parseEntry(r)
		if err != nil {
			return fmt.Errorf("tensor %s: %w", quoted(name), err)
		}
		e.part = f.parts[0]
		f.tensors[name] = e
		return nil
	})
	if err == nil {
		err = r.End()
	}
	if err != nil {
		return fmt.Errorf("header: %w", err)
	}
	if err := f.checkTiling(); err != nil {
		return err
	}
	f.addShared()
	return nil
}

// addShared adds the tensors that were left out because they are the same as another: the metadata
// name the one that stands for each.
func (f *File) addShared() {
	for _, name := range slices.Sorted(maps.Keys(f.metadata)) {
		e, there := f.tensors[f.metadata[name]]
		if there && !f.Has(name) && len(f.tensors) < maxTensors {
			f.tensors[name] = e
		}
	}
}

// parseMetadata reads the texts under __metadata__: how a file was made, and which tensors were
// left out; see addShared.
func (f *File) parseMetadata(r *jsonread.Reader) error {
	f.metadata = make(map[string]string)
	err := r.Object(func(key string) error {
		v, err := r.Text()
		f.metadata[key] = v
		if err != nil {
			return fmt.Errorf("%s: %w", quoted(key), err)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("__metadata__: %w", err)
	}
	return nil
}

// parseEntry reads {"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}. Keys may come in any order,
// and each must be there. Offsets count from the end of the header.
func parseEntry(r *jsonread.Reader) (entry, error) {
	var e entry
	var shape, offsets []int64
	seen := 0
	err := r.Object(func(key string) (err error) {
		seen++
		switch key {
		// a text such as F32, checked in setShape
		case "dtype":
			var s string
			s, err = r.Text()
			e.dtype = DType(s)
		// outermost axis first; [] for a scalar
		case "shape":
			shape, err = readNaturals(r, maxAxes)
		// [begin,end)
		case "data_offsets":
			offsets, err = readNaturals(r, 2)
		default:
			return fmt.Errorf("unknown key %s, known are data_offsets, dtype, shape", quoted(key))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		return nil
	})
	if err != nil {
		return entry{}, err
	}
	if seen != 3 || len(offsets) != 2 {
		return entry{}, errors.New("needs dtype, shape and two data_offsets")
	}
	e.begin, e.end = offsets[0], offsets[1]
	return e, e.setShape(shape)
}

// setShape checks that shape × dtype is the number of bytes between the offsets. The product is
// compared with that number after each factor, so an overflow cannot go unnoticed. It sets shape,
// [axes], and count, the number of elements.
func (e *entry) setShape(shape []int64) error {
	size, ok := dtypeSizes[e.dtype]
	if !ok {
		return fmt.Errorf("dtype %s is unknown, known are %s", quoted(string(e.dtype)),
			strings.Join(knownDTypes(), ", "))
	}
	span := e.end - e.begin
	if span < 0 {
		return fmt.Errorf("data_offsets [%d,%d] run backwards", e.begin, e.end)
	}
	total := int64(size)
	// An axis of length 0 makes the tensor empty, however large the others are.
	if slices.Contains(shape, 0) {
		total = 0
	}
	e.shape = make([]int, len(shape))
	for i, n := range shape {
		// total·n > span without computing the product
		if n > math.MaxInt || (total > 0 && n > span/total) {
			return e.mismatch(shape)
		}
		e.shape[i] = int(n)
		total *= n
	}
	if total != span {
		return e.mismatch(shape)
	}
	if span/int64(size) > math.MaxInt {
		return fmt.Errorf("%d elements are too many for this machine", span/int64(size))
	}
	e.count = int(span / int64(size))
	return nil
}

// mismatch returns the error for a shape that needs another number of bytes.
func (e *entry) mismatch(shape []int64) error {
	return fmt.Errorf("shape %v of %s (%d bytes each) does not fill data_offsets [%d,%d], which "+
		"span %d bytes",
		shape, e.dtype, dtypeSizes[e.dtype], e.begin, e.end, e.end-e.begin)
}

// checkTiling checks that the tensors, sorted by offset, follow each other from 0 to the end of the
// file. Then each byte of the data belongs to exactly one tensor, so a wrong offset is found, and
// nothing can be hidden in a file.
func (f *File) checkTiling() error {
	names := f.Names()
	slices.SortStableFunc(names, func(a, b string) int {
		x, y := f.tensors[a], f.tensors[b]
		// Tensors without elements begin and end at one offset, so they sort by their end before
		// the tensor that begins there.
		if x.begin != y.begin {
			return cmp.Compare(x.begin, y.begin)
		}
		return cmp.Compare(x.end, y.end)
	})
	data := f.parts[0].size - f.parts[0].start
	var end int64
	for _, name := range names {
		e := f.tensors[name]
		switch {
		// As after an incomplete download.
		case e.end > data:
			return fmt.Errorf("tensor %s: data_offsets [%d,%d] run past the end of the data, %d "+
				"bytes: truncated",
				quoted(name), e.begin, e.end, data)
		case e.begin < end:
			return fmt.Errorf("tensor %s: data_offsets [%d,%d] overlap another tensor, which "+
				"ends at %d", quoted(name), e.begin, e.end, end)
		case e.begin > end:
			return fmt.Errorf("tensor %s: data_offsets [%d,%d] leave a hole from %d", quoted(name),
				e.begin, e.end, end)
		}
		end = e.end
	}
	// What is left over would be a tensor whose entry is missing, or two files joined.
	if end != data {
		last := "the header, which has no tensors,"
		if len(names) > 0 {
			last = fmt.Sprintf("tensor %s, the last, which ends at %d", quoted(names[len(names)-1]),
				end)
		}
		return fmt.Errorf("%d bytes after %s", data-end, last)
	}
	return nil
}
