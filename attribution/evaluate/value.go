package evaluate

import (
	"encoding/json"
	"math"

	"github.com/headwater-ml/headwater/internal/rowmath"
)

// Value is a number, or NaN if there is none. What is not finite is null in JSON, which has no such
// numbers, and null is read as NaN.
type Value float64

// undefined is the value of a measure that is undefined.
var undefined = Value(math.NaN())

// MarshalJSON writes the number, or null.
func (v Value) MarshalJSON() ([]byte, error) {
	x := float64(v)
	if rowmath.NotFinite(x) {
		return []byte("null"), nil
	}
	return json.Marshal(x)
}

// UnmarshalJSON reads the form of [Value.MarshalJSON].
func (v *Value) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*v = Value(math.NaN())
		return nil
	}
	return json.Unmarshal(b, (*float64)(v))
}
