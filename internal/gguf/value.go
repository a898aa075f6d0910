package gguf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// valueType is the type of a value of the metadata, as the file numbers it.
type valueType uint32

const (
	uint8Value valueType = iota
	int8Value
	uint16Value
	int16Value
	uint32Value
	int32Value
	float32Value
	boolValue
	textValue
	arrayValue
	uint64Value
	int64Value
	float64Value
)

var valueNames = []string{
	"uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "bool", "string", "array",
	"uint64", "int64", "float64",
}

var valueSizes = []int{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8}

func (t valueType) String() string {
	if int(t) < len(valueNames) {
		return valueNames[t]
	}
	return "type " + strconv.FormatUint(uint64(t), 10)
}

// Value is one value of the metadata: a number, a truth value, a text, or an array.
type Value struct {
	kind valueType
	// number has the bits of a number or truth value.
	number uint64
	text   string
	// array is set for arrays.
	array *array
}

// array is the content of an array: numbers as the file has them, texts, or arrays.
type array struct {
	element valueType
	count   int
	numbers []byte
	texts   []string
	arrays  []Value
}

// value reads a value of a type. depth is how many arrays it is in.
func (r *reader) value(kind valueType, depth int) (Value, error) {
	v := Value{kind: kind}
	var err error
	switch {
	case int(kind) >= len(valueNames):
		return v, fmt.Errorf("value of unknown %v, known are %s", kind,
			strings.Join(valueNames, ", "))
	case kind == textValue:
		v.text, err = r.text()
	case kind == arrayValue:
		v.array, err = r.array(depth)
	default:
		var b []byte
		if b, err = r.bytes(int64(valueSizes[kind])); err == nil {
			v.number = bits(kind, b)
		}
		if err == nil && kind == boolValue && v.number > 1 {
			err = fmt.Errorf("a truth value of %d; it must be 0 or 1", v.number)
		}
	}
	if err != nil {
		return v, fmt.Errorf("value of type %v: %w", kind, err)
	}
	return v, nil
}

// array reads an array. Its count has been compared with the bytes that are left before memory is
// allocated.
func (r *reader) array(depth int) (*array, error) {
	element, err := r.uint32()
	if err != nil {
		return nil, err
	}
	a := &array{element: valueType(element)}
	size, most := 0, uint64(math.MaxInt64)
	switch {
	case element >= uint32(len(valueNames)):
		return nil, fmt.Errorf("elements of unknown %v, known are %s", a.element,
			strings.Join(valueNames, ", "))
	case a.element == textValue:
		size = 8
	case a.element == arrayValue:
		size, most = 4+8, maxArrays
		if depth++; depth > maxNesting {
			return nil, fmt.Errorf("arrays are nested more than %d deep", maxNesting)
		}
	default:
		size = valueSizes[element]
	}
	if a.count, err = r.count("elements", most, uint64(size)); err != nil {
		return nil, err
	}
	return a, r.elements(a, depth)
}

// elements reads the content of an array.
func (r *reader) elements(a *array, depth int) error {
	switch a.element {
	case textValue:
		a.texts = make([]string, 0, a.count/2) // a text takes 16 bytes here and at least 8 there
		for i := range a.count {
			s, err := r.text()
			if err != nil {
				return fmt.Errorf("element %d of %d: %w", i, a.count, err)
			}
			a.texts = append(a.texts, s)
		}
	case arrayValue:
		if r.arrays += a.count; r.arrays > maxArrays {
			return fmt.Errorf("more than %d arrays in arrays", maxArrays)
		}
		for i := range a.count {
			v, err := r.value(arrayValue, depth)
			if err != nil {
				return fmt.Errorf("element %d of %d: %w", i, a.count, err)
			}
			a.arrays = append(a.arrays, v)
		}
	default:
		b, err := r.bytes(int64(a.count) * int64(valueSizes[a.element]))
		if err != nil {
			return err
		}
		if len(b) <= windowSize { // otherwise the window was made for b, and has nothing else
			b = bytes.Clone(b)
		}
		a.numbers = b
		if a.element == boolValue {
			for i, x := range a.numbers {
				if x > 1 {
					return fmt.Errorf("element %d is a truth value of %d; it must be 0 or 1", i, x)
				}
			}
		}
	}
	return nil
}

// bits returns the bits of a little-endian number.
func bits(kind valueType, b []byte) uint64 {
	switch valueSizes[kind] {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

// Int returns the value as a whole number. ok is false if it is not of a type of whole numbers, or
// too large for 64 bits with a sign.
func (v Value) Int() (n int64, ok bool) {
	switch v.kind {
	case int8Value:
		return int64(int8(v.number)), true
	case int16Value:
		return int64(int16(v.number)), true
	case int32Value:
		return int64(int32(v.number)), true
	case uint8Value, uint16Value, uint32Value, int64Value:
		return int64(v.number), true
	case uint64Value:
		return int64(v.number), v.number <= math.MaxInt64
	}
	return 0, false
}

// Float returns the value as a number. ok is false if it is not a floating-point number.
func (v Value) Float() (x float64, ok bool) {
	switch v.kind {
	case float32Value:
		return float64(math.Float32frombits(uint32(v.number))), true
	case float64Value:
		return math.Float64frombits(v.number), true
	}
	return 0, false
}

// Bool returns a truth value. ok is false if the value is of another type.
func (v Value) Bool() (b, ok bool) { return v.number == 1, v.kind == boolValue }

// Text returns a text. ok is false if the value is of another type.
func (v Value) Text() (s string, ok bool) { return v.text, v.kind == textValue }

// Len returns how many elements an array has. ok is false if the value is no array.
func (v Value) Len() (n int, ok bool) {
	if v.array == nil {
		return 0, false
	}
	return v.array.count, true
}

// At returns element i of an array. It panics if the value is no array or has no such element.
func (v Value) At(i int) Value {
	a := v.array
	switch a.element {
	case textValue:
		return Value{kind: textValue, text: a.texts[i]}
	case arrayValue:
		return a.arrays[i]
	}
	size := valueSizes[a.element]
	return Value{kind: a.element, number: bits(a.element, a.numbers[i*size:])}
}

// texts returns an array of texts. ok is false if the value is anything else.
func (v Value) texts() (texts []string, ok bool) {
	if v.array == nil || v.array.element != textValue {
		return nil, false
	}
	return v.array.texts, true
}

// String returns the value for a message, with its type, cut if it is long.
func (v Value) String() string {
	switch v.kind {
	case textValue:
		return quoted(v.text)
	case boolValue:
		return strconv.FormatBool(v.number == 1)
	case arrayValue:
		return fmt.Sprintf("an array of %d × %v", v.array.count, v.array.element)
	case float32Value, float64Value:
		return v.decimal() + " (" + v.kind.String() + ")"
	case uint64Value:
		return strconv.FormatUint(v.number, 10) + " (uint64)"
	}
	n, _ := v.Int()
	return strconv.FormatInt(n, 10) + " (" + v.kind.String() + ")"
}

// decimal returns a floating-point number in the fewest digits that give the same number in its own
// precision: the float32 nearest to 1e-5 is 1e-05, as in config.json.
func (v Value) decimal() string {
	x, _ := v.Float()
	precision := 64
	if v.kind == float32Value {
		precision = 32
	}
	return strconv.FormatFloat(x, 'g', -1, precision)
}
