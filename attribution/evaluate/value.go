package evaluate

import (
	"encoding/json"
	"math"
)

// Value is a number, or NaN if there is none. NaN is null in JSON.
type Value float64

// undefined is the value of a measure that is undefined.
var undefined = Value(math.NaN())

// MarshalJSON writes the number, or null.
func (v Value) MarshalJSON() ([]byte, error) {
	if x := float64(v); !math.IsNaN(x) {
		return json.Marshal(x)
	}
	return []byte("null"), nil
}

// UnmarshalJSON reads the form of [Value.MarshalJSON].
func (v *Value) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*v = Value(math.NaN())
		return nil
	}
	return json.Unmarshal(b, (*float64)(v))
}
