package chart

import (
	"encoding/json"
	"math"
)

// JSON has no NaN, and a chart has NaN where there is a gap. So its lists of numbers write null for
// it, and read null as NaN.

// numbers is a list of numbers in which NaN is null.
type numbers []float64

// MarshalJSON writes NaN as null.
func (n numbers) MarshalJSON() ([]byte, error) {
	if n == nil {
		return []byte("null"), nil
	}
	list := make([]*float64, len(n))
	for i, v := range n {
		if !math.IsNaN(v) {
			list[i] = &v
		}
	}
	return json.Marshal(list)
}

// UnmarshalJSON reads null as NaN.
func (n *numbers) UnmarshalJSON(b []byte) error {
	var list []*float64
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	if list == nil {
		*n = nil
		return nil
	}
	*n = make(numbers, len(list))
	for i, v := range list {
		(*n)[i] = math.NaN()
		if v != nil {
			(*n)[i] = *v
		}
	}
	return nil
}

// plainSeries and plainMatrix have the fields without the methods.
type (
	plainSeries Series
	plainMatrix Matrix
	plainColumn Column
)

// MarshalJSON writes NaN as null. Infinite numbers are an error.
func (s Series) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		plainSeries
		X, Y, C, Value numbers
	}{plainSeries(s), s.X, s.Y, s.C, s.Value})
}

// UnmarshalJSON reads null as NaN.
func (s *Series) UnmarshalJSON(b []byte) error {
	var v struct {
		plainSeries
		X, Y, C, Value numbers
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	*s = Series(v.plainSeries)
	s.X, s.Y, s.C, s.Value = v.X, v.Y, v.C, v.Value
	return nil
}

// MarshalJSON writes NaN as null. Infinite numbers are an error.
func (m Matrix) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		plainMatrix
		Data numbers
	}{plainMatrix(m), m.Data})
}

// UnmarshalJSON reads null as NaN.
func (m *Matrix) UnmarshalJSON(b []byte) error {
	var v struct {
		plainMatrix
		Data numbers
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	*m = Matrix(v.plainMatrix)
	m.Data = v.Data
	return nil
}

// MarshalJSON writes NaN as null. Infinite numbers are an error.
func (x Column) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		plainColumn
		Values numbers
	}{plainColumn(x), x.Values})
}

// UnmarshalJSON reads null as NaN.
func (x *Column) UnmarshalJSON(b []byte) error {
	var v struct {
		plainColumn
		Values numbers
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	*x = Column(v.plainColumn)
	x.Values = v.Values
	return nil
}
