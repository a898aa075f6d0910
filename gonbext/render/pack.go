package render

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
)

// pack returns what the script of a picture needs, for an element of its own: JSON, compressed
// (RFC 1951), in base64, which has no character that HTML escapes. unpack in common.js reads it.
//
// Equal data give equal bytes: JSON has the fields in the order of their struct, and flate looks at
// nothing but its input and its level. Another version of Go may compress to other bytes, so the
// goldens keep the JSON.
func pack(data any) string {
	text, err := json.Marshal(data)
	var b bytes.Buffer
	w, wrong := flate.NewWriter(&b, packLevel)
	if err != nil || wrong != nil { // numbers and texts have a form, and the level exists
		panic("render: data of a script without a form")
	}
	_, _ = w.Write(text) // a buffer takes all
	_ = w.Close()
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// packLevel is the level of compression. Rows of attention are 4 % smaller at the default, which
// takes about twice as long.
const packLevel = 4

// packWithin returns pack of data, or "" if that is longer than limit, in bytes.
func packWithin(limit int, data any) string {
	if code := pack(data); len(code) <= limit {
		return code
	}
	return ""
}

// packedRow is a row of values for a script: counts of a unit. In JSON the unit stands before the
// counts, and null in place of a value that is not a number. Small counts of a coarse unit take
// less room than the digits of the values, also after compression.
type packedRow struct {
	unit   float64
	counts []int
}

// notNumber is the count of NaN.
const notNumber = math.MinInt

// MarshalJSON writes a row as common.js reads it.
func (r packedRow) MarshalJSON() ([]byte, error) {
	b := strconv.AppendFloat([]byte{'['}, r.unit, 'g', -1, 64)
	for _, n := range r.counts {
		b = append(b, ',')
		if n == notNumber {
			b = append(b, "null"...)
			continue
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return append(b, ']'), nil
}

// Into how many parts the largest value of a row is divided: of rounded rows, and of exact ones the
// first that shows its numbers as sentences do.
var (
	roundedParts = []float64{1 << 7}
	exactParts   = []float64{1 << 11, 1 << 15, 1 << 20}
)

// packRow returns values as counts of a unit: the smallest of 1, 2, 5 ×10^k of which there are at
// most parts in the largest finite size of the values, or in limit if that is smaller. Infinity
// becomes the largest size. Of the counts beside a value it takes the nearest for which same, given
// the index of the value and what the count stands for, is true. If a value has no such count, the
// next of parts is tried; with the last one, such a value gets its nearest count.
func packRow(values, parts []float64, limit float64, same func(j int, near float64) bool) (
	r packedRow,
) {
	top := 0.0
	for _, x := range values {
		if x := math.Abs(x); x > top && !math.IsInf(x, 0) {
			top = x
		}
	}
	for _, n := range parts {
		r = packedRow{unit: 1, counts: make([]int, len(values))}
		if end := min(top, limit); end >= 1e-300 {
			r.unit = nice(end / n)
		}
		all := true
		for j, x := range values {
			if math.IsNaN(x) {
				r.counts[j] = notNumber
				continue
			}
			count, found := nearest(min(max(x, -top), top), r.unit, func(near float64) bool {
				return same(j, near)
			})
			r.counts[j], all = count, all && found
		}
		if all {
			break
		}
	}
	return r
}

// nearest returns the count of a unit that is nearest to x, or else the first beside it for which
// same is true; found reports whether same is true for it.
func nearest(x, unit float64, same func(near float64) bool) (count int, found bool) {
	n := int(math.Round(x / unit))
	for _, count := range [3]int{n, n - 1, n + 1} {
		if same(float64(count) * unit) {
			return count, true
		}
	}
	return n, false
}
