package render

import (
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// unpacked returns the JSON of what pack returned.
func unpacked(t *testing.T, code string) []byte {
	t.Helper()
	text, err := io.ReadAll(
		flate.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(code))))
	must(t, err)
	return text
}

// scriptOf reads what the script of a picture has into d; it returns false if there is no script.
func scriptOf(t *testing.T, markup string, d any) bool {
	t.Helper()
	code := forScript.FindStringSubmatch(markup)
	if code == nil {
		return false
	}
	must(t, json.Unmarshal(unpacked(t, code[1]), d))
	return true
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *packedRow) UnmarshalJSON(text []byte) error {
	var numbers []*float64
	if err := json.Unmarshal(text, &numbers); err != nil {
		return err
	}
	*r = packedRow{unit: *numbers[0], counts: []int{}}
	for _, x := range numbers[1:] {
		n := notNumber
		if x != nil {
			n = int(*x)
		}
		r.counts = append(r.counts, n)
	}
	return nil
}

// value returns the value of source j.
func (r packedRow) value(j int) float64 {
	if r.counts[j] == notNumber {
		return math.NaN()
	}
	return float64(r.counts[j]) * r.unit
}

func TestPackRow(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	any := func(int, float64) bool { return true }
	for _, c := range []struct {
		name         string
		values       []float64
		parts, limit float64
		want         string
	}{
		{"of shares", []float64{0.5, 0.25, 0}, 100, inf, "[0.005,100,50,0]"},
		{"a unit of 1, 2, 5 times a power of ten", []float64{300, -7, 1}, 100, inf, "[5,60,-1,0]"},
		{"not numbers", []float64{nan, 1, inf, -inf}, 10, inf, "[0.1,null,10,10,-10]"},
		{"a limit below the largest", []float64{1, 0.01}, 10, 0.1, "[0.01,100,1]"},
		{"no values", nil, 10, inf, "[1]"},
		{"zeros", []float64{0, 0}, 10, inf, "[1,0,0]"},
		{"none but NaN", []float64{nan}, 10, inf, "[1,null]"},
	} {
		r := packRow(c.values, []float64{c.parts}, c.limit, any)
		got, err := json.Marshal(r)
		must(t, err)
		if string(got) != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		var again packedRow
		must(t, json.Unmarshal(got, &again))
		if len(again.counts) != len(c.values) {
			t.Errorf("%s: read back as %v", c.name, again)
		}
	}
	// 0.149 is nearest to one of ten parts. Who needs more than that gets two, and who needs what
	// no count beside it is gets finer parts, as long as there are any.
	for _, c := range []struct {
		least, most float64
		want        string
	}{
		{0, 1, "[0.1,10,1]"},
		{0.15, 1, "[0.1,10,2]"},
		{0.145, 0.155, "[0.01,100,15]"},
		{0.1491, 0.1499, "[0.01,100,15]"},
	} {
		r := packRow([]float64{1, 0.149}, []float64{10, 100}, 1, func(j int, near float64) bool {
			return j == 0 || near >= c.least && near <= c.most
		})
		if got, err := json.Marshal(r); err != nil || string(got) != c.want {
			t.Errorf("between %v and %v: %s, %v; want %s", c.least, c.most, got, err, c.want)
		}
	}
}

// TestPack packs the same bytes every time, and unpacks what was packed.
func TestPack(t *testing.T) {
	rows := []packedRow{{0.1, []int{3, notNumber}}}
	d := tableData{Title: "a", Columns: []string{"b"}, Shares: rows}
	code := pack(d)
	if again := pack(d); again != code || packWithin(len(code)-1, d) != "" ||
		packWithin(len(code), d) != code {
		t.Errorf("%q, then %q", code, again)
	}
	var got tableData
	must(t, json.Unmarshal(unpacked(t, code), &got))
	if diff := cmp.Diff(d, got, cmp.AllowUnexported(packedRow{}, tableData{})); diff != "" {
		t.Error(diff)
	}
}
