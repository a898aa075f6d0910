package tokenizer

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/internal/jsonread"
)

// keyError is an error at a place in the file, such as "normalizer.normalizers[3].content".
type keyError struct {
	key string
	err error
}

func (e *keyError) Error() string { return e.key + ": " + e.err.Error() }

func (e *keyError) Unwrap() error { return e.err }

// decodeStrict reads one JSON value into the structure that v points to; see [decodeInto] for its
// types. A key that v does not have is an error, because it could change the result. If a key
// is repeated, the last value counts, as in the reference. Errors name the key and speak of JSON
// alone.
func decodeStrict(data []byte, v any) error {
	r := jsonread.AsRust(data)
	if err := decodeInto(r, reflect.ValueOf(v).Elem()); err != nil {
		return err
	}
	return r.End()
}

// rawType is a []byte in the eyes of reflect, so it is compared before the kinds.
var rawType = reflect.TypeFor[json.RawMessage]()

// decodeInto reads the next value into v: a text, a bool, a number, a list, an object, or raw JSON.
// null leaves a pointer nil, a list without items and a text empty.
func decodeInto(r *jsonread.Reader, v reflect.Value) error {
	if v.Type() == rawType {
		raw, err := r.Raw()
		v.SetBytes(raw)
		return err
	}
	// The last of repeated keys counts, so nothing of the value before may stay.
	v.SetZero()
	if r.Kind() == 'n' {
		_, err := r.Raw()
		return err
	}
	// The one type that is a list in JSON and not in Go.
	if n, ok := v.Addr().Interface().(*namedID); ok {
		return n.read(r)
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return decodeInto(r, v.Elem())
	case reflect.String:
		s, err := r.Text()
		v.SetString(s)
		return err
	case reflect.Bool:
		if r.Kind() != 't' && r.Kind() != 'f' {
			return r.Not("true or false")
		}
		b, err := r.Any()
		v.SetBool(b == true)
		return err
	case reflect.Slice:
		return decodeItems(r, v)
	case reflect.Map:
		return decodeEntries(r, v)
	case reflect.Struct:
		return decodeFields(r, v)
	}
	return decodeNumber(r, v)
}

// decodeItems reads a list. An empty one is not nil, so it differs from one that is missing.
func decodeItems(r *jsonread.Reader, v reflect.Value) error {
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	return r.List(func(i int) error {
		item := reflect.New(v.Type().Elem()).Elem()
		if err := decodeInto(r, item); err != nil {
			return atKey(fmt.Sprintf("[%d]", i), err)
		}
		v.Set(reflect.Append(v, item))
		return nil
	})
}

func decodeEntries(r *jsonread.Reader, v reflect.Value) error {
	v.Set(reflect.MakeMap(v.Type()))
	return r.Object(func(key string) error {
		item := reflect.New(v.Type().Elem()).Elem()
		err := decodeInto(r, item)
		v.SetMapIndex(reflect.ValueOf(key), item)
		return atKey(cutKey(key), err)
	})
}

// decodeFields reads an object into the fields of v, by the names in their tags. A field with the
// tag need must be in the object and not null.
func decodeFields(r *jsonread.Reader, v reflect.Value) error {
	read := make([]bool, v.NumField())
	err := r.Object(func(key string) error {
		var known []string
		// Structures have few fields, so they are searched in order.
		for i := range v.NumField() {
			name := v.Type().Field(i).Tag.Get("json")
			if name == "" {
				name = v.Type().Field(i).Name
			}
			if name == key {
				read[i] = r.Kind() != 'n'
				return atKey(key, decodeInto(r, v.Field(i)))
			}
			known = append(known, name)
		}
		return fmt.Errorf("unknown field %s (known are %s)", strconv.Quote(cutKey(key)),
			strings.Join(known, ", "))
	})
	if err != nil {
		return err
	}
	return missing(v, read)
}

// missing is the error for a needed field that was not read, nil if there is none.
func missing(v reflect.Value, read []bool) error {
	var needed []string
	complete := true
	for i := range read {
		if tag := v.Type().Field(i).Tag; tag.Get("need") != "" {
			needed, complete = append(needed, tag.Get("json")), complete && read[i]
		}
	}
	if complete {
		return nil
	}
	last := len(needed) - 1
	text := strings.TrimPrefix(strings.Join(needed[:last], ", ")+" and "+needed[last], " and ")
	if kind := v.FieldByName("Type"); kind.IsValid() {
		return fmt.Errorf("%s needs %s", kind, text)
	}
	return fmt.Errorf("%s are needed", text)
}

// cutKey returns a key for an error, shortened if it is long.
func cutKey(key string) string {
	if runes := []rune(key); len(runes) > 40 {
		return string(runes[:40]) + "..."
	}
	return key
}

// decodeNumber reads a number that fits v.
func decodeNumber(r *jsonread.Reader, v reflect.Value) error {
	text, err := r.Number()
	if err != nil {
		return err
	}
	switch v.Kind() {
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("%.40s is too large a number", text)
		}
		v.SetFloat(f)
	case reflect.Int:
		// A fraction or an exponent is an error, also 2.0.
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("%.40s is not a whole number from %d to %d", text, int64(-1<<63),
				int64(1<<63-1))
		}
		v.SetInt(n)
	case reflect.Uint, reflect.Uint32:
		n, err := strconv.ParseUint(text, 10, v.Type().Bits())
		if err != nil {
			return fmt.Errorf("%.40s is not a whole number from 0 to %d", text,
				// The largest number of the type, computed without overflow.
				uint64(1)<<(v.Type().Bits()-1)-1+uint64(1)<<(v.Type().Bits()-1))
		}
		v.SetUint(n)
	default:
		// The types are those of this package.
		panic("tokenizer: no number is read into " + v.Type().String())
	}
	return nil
}

// read reads ["</s>", 2].
func (n *namedID) read(r *jsonread.Reader) error {
	if r.Kind() != '[' {
		return r.Not(`a token and its id, as ["</s>", 2]`)
	}
	size := 0
	err := r.List(func(i int) error {
		size++
		switch i {
		case 0:
			return atKey("[0]", decodeInto(r, reflect.ValueOf(&n.content).Elem()))
		case 1:
			return atKey("[1]", decodeInto(r, reflect.ValueOf(&n.id).Elem()))
		}
		_, err := r.Raw()
		return err
	})
	if err == nil && size != 2 {
		return fmt.Errorf("a token and its id are 2 values, not %d", size)
	}
	return err
}

// kindOf returns the type of a part, "" if it has none.
func kindOf(raw json.RawMessage) string {
	kind := ""
	r := jsonread.AsRust(raw)
	err := r.Object(func(key string) (err error) {
		if key == "type" && r.Kind() == '"' {
			kind, err = r.Text()
			return err
		}
		_, err = r.Raw()
		return err
	})
	if err != nil {
		return ""
	}
	return kind
}
