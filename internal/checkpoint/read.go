package checkpoint

import (
	"slices"
)

// Float32 returns the values of a tensor, row-major. F16 and BF16 are converted exactly and F64 is
// rounded to the nearest float32; NaN and infinity stay what they are. It returns an error if there
// is no tensor with that name, if its type is not a floating-point type, or if the file cannot be
// read.
func (f *File) Float32(name string) ([]float32, error) {
	return readWhole(f, name, floatTypes, toFloat32)
}

// Float32At fills dst with the values of a tensor, row-major, beginning with element number first
// (from 0). Values are converted as in [File.Float32]. So a part of a tensor goes where it is
// needed without a copy in between. In addition to the errors of Float32, it returns an error if
// the tensor has fewer than first+len(dst) elements. After an error the content of dst is
// undefined.
func (f *File) Float32At(dst []float32, name string, first int) error {
	return fill(f, dst, name, first, floatTypes, toFloat32)
}

// Float64 returns the values of a tensor, row-major, exact for every floating-point type. Its
// errors are those of [File.Float32].
func (f *File) Float64(name string) ([]float64, error) {
	return readWhole(f, name, floatTypes, toFloat64)
}

// Float64At fills dst as [File.Float32At] does, exact for every floating-point type.
func (f *File) Float64At(dst []float64, name string, first int) error {
	return fill(f, dst, name, first, floatTypes, toFloat64)
}

// Int32 returns the values of an I32 tensor, row-major. It returns an error for any other type.
func (f *File) Int32(name string) ([]int32,
	error,
) {
	return readWhole(f, name, []DType{I32}, toInt32)
}

// Int64 returns the values of an I32 or I64 tensor, row-major. It returns an error for any other
// type.
func (f *File) Int64(name string) ([]int64, error) {
	return readWhole(f, name, []DType{I32, I64}, toInt64)
}

// BytesAt fills dst with the elements of a U8 tensor as [File.Float32At] does.
func (f *File) BytesAt(dst []byte, name string, first int) error {
	return fill(f, dst, name, first, []DType{U8}, func(dst, b []byte, _ DType) { copy(dst, b) })
}

// chunk is how many bytes of a tensor are read at once. It is a multiple of every element size.
const chunk = 1 << 20

// readWhole returns all values of a tensor.
func readWhole[V any](f *File, name string, types []DType, convert converter[V]) ([]V, error) {
	e, err := f.lookupTyped(name, types)
	if err != nil {
		return nil, err
	}
	dst := make([]V, e.count)
	if err := e.read(name, 0, len(dst), converting(dst, e.dtype, convert)); err != nil {
		return nil, err
	}
	return dst, nil
}

// fill reads len(dst) values of a tensor.
func fill[V any](f *File, dst []V, name string, first int, types []DType,
	convert converter[V],
) error {
	e, err := f.lookupTyped(name, types)
	if err != nil {
		return err
	}
	if first < 0 || first > e.count || len(dst) > e.count-first {
		return pkg.Errorf("%s: tensor %q has %d elements, not %d from %d on",
			e.part.name, name, e.count, len(dst), first)
	}
	return e.read(name, first, len(dst), converting(dst, e.dtype, convert))
}

// converting returns a function that converts one piece after another into dst.
func converting[V any](dst []V, dtype DType, convert converter[V]) func([]byte) error {
	size := dtypeSizes[dtype]
	return func(b []byte) error {
		n := len(b) / size
		convert(dst[:n], b, dtype)
		dst = dst[n:]
		return nil
	}
}

// lookupTyped returns a tensor whose type must be one of types.
func (f *File) lookupTyped(name string, types []DType) (entry, error) {
	e, err := f.lookup(name)
	if err != nil {
		return entry{}, err
	}
	if !slices.Contains(types, e.dtype) {
		return entry{}, pkg.Errorf("%s: tensor %q is %s, not %s", e.part.name, name,
			e.dtype, described(types))
	}
	return e, nil
}

// read calls use with the bytes of count elements, piece by piece.
func (e entry) read(name string, first, count int, use func([]byte) error) error {
	size := int64(dtypeSizes[e.dtype])
	begin := e.part.start + e.begin + int64(first)*size
	return e.wrap(name, e.part.storage.each(begin, begin+int64(count)*size, chunk, use))
}

func (e entry) wrap(name string, err error) error {
	if err == nil {
		return nil
	}
	return pkg.Errorf("%s: tensor %q: %w", e.part.name, name, err)
}
