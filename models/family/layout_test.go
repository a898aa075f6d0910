package family

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/models/spec"
)

// layoutNames are for messages.
var layoutNames = [...]string{
	"as is", "transposed", "query side by side", "key side by side", "value side by side",
	"query of each group", "key of each group", "value of each group", "query rows", "key rows",
	"value rows", "query of four", "key of four", "value of four", "gate rows", "up rows",
}

// A projection with 4 heads in 2 groups of width 3. The digits of each number say where it belongs.
const (
	layoutHeads, layoutGroups, layoutWidth, layoutIn, layoutForward = 4, 2, 3, 5, 7

	queryPart, keyPart, valuePart, gatePart, upPart = 1, 2, 3, 4, 5
)

// digits is the number of head (or group) h of a part, place e of its width and input i.
func digits(part, h, e, i int) float32 { return float32(1000*part + 100*h + 10*e + i) }

// outputs lists (h,e) of every output of a part, in the order of the parameter.
func outputs(part int) (at [][2]int) {
	heads, width := layoutHeads, layoutWidth
	switch part {
	case keyPart, valuePart:
		heads = layoutGroups
	case gatePart, upPart:
		heads, width = 1, layoutForward
	}
	for h := range heads {
		for e := range width {
			at = append(at, [2]int{h, e})
		}
	}
	return at
}

// column is one output of a fused tensor: a part, a head and a place.
type column struct{ part, h, e int }

// columnsOf are all outputs of a part.
func columnsOf(part int) (out []column) {
	for _, o := range outputs(part) {
		out = append(out, column{part, o[0], o[1]})
	}
	return out
}

// tensor writes outputs as rows [out,in], or as columns [in,out].
func tensor(columns []column, inFirst bool) (data []float32) {
	if inFirst {
		for i := range layoutIn {
			for _, c := range columns {
				data = append(data, digits(c.part, c.h, c.e, i))
			}
		}
		return data
	}
	for _, c := range columns {
		for i := range layoutIn {
			data = append(data, digits(c.part, c.h, c.e, i))
		}
	}
	return data
}

// parameter is what a graph needs of a part: [in,out].
func parameter(part int) []float32 { return tensor(columnsOf(part), true) }

// reading returns a reader of data that checks the range.
func reading(data []float32) reader {
	return func(dst []float32, first int) error {
		if first < 0 || first+len(dst) > len(data) {
			return fmt.Errorf("read %d..%d of %d", first, first+len(dst), len(data))
		}
		copy(dst, data[first:])
		return nil
	}
}

// readAll collects what a layout puts. Every place must be written once.
func readAll(y Layout, data []float32, shape []int, s *spec.Spec) ([]float32, error) {
	got := make([]float32, spec.Param{Shape: shape}.Size())
	written := 0
	err := y.read(shape, s, &scratch{}, reading(data), func(first int, values []float32) {
		written += copy(got[first:], values)
	})
	if err == nil && written != len(got) {
		err = fmt.Errorf("%d numbers were put, want %d", written, len(got))
	}
	return got, err
}

// TestLayouts reads each part of tensors that are built in the order of the reference
// implementation.
func TestLayouts(t *testing.T) {
	grouped := &spec.Spec{
		Heads: layoutHeads, KeyValueHeads: layoutGroups,
		HeadWidth: layoutWidth, FeedForward: layoutForward,
	}
	var byGroup []column // [G, H/G queries, key, value, E]
	for g := range layoutGroups {
		for h := g * 2; h < g*2+2; h++ {
			for e := range layoutWidth {
				byGroup = append(byGroup, column{queryPart, h, e})
			}
		}
		for _, part := range []int{keyPart, valuePart} {
			for e := range layoutWidth {
				byGroup = append(byGroup, column{part, g, e})
			}
		}
	}
	rows := append(append(columnsOf(queryPart), columnsOf(keyPart)...), columnsOf(valuePart)...)
	gateUp := append(columnsOf(gatePart), columnsOf(upPart)...)
	for _, c := range []struct {
		layout  Layout
		columns []column
		part    int
	}{
		{AsIs, columnsOf(queryPart), queryPart},
		{Transposed, columnsOf(keyPart), keyPart},
		{QueryOfGroup, byGroup, queryPart},
		{KeyOfGroup, byGroup, keyPart},
		{ValueOfGroup, byGroup, valuePart},
		{QueryRows, rows, queryPart},
		{KeyRows, rows, keyPart},
		{ValueRows, rows, valuePart},
		{GateRows, gateUp, gatePart},
		{UpRows, gateUp, upPart},
	} {
		t.Run(layoutNames[c.layout], func(t *testing.T) {
			checkLayout(t, c.layout, grouped, c.columns, c.part)
		})
	}
}

// TestLayoutsOfEveryHead: side by side as in GPT-2, and in groups of one head as in BLOOM, where
// each head has its own key and value.
func TestLayoutsOfEveryHead(t *testing.T) {
	each := &spec.Spec{Heads: layoutGroups, HeadWidth: layoutWidth}
	part := func(p int) (out []column) { // as many heads as keys have
		for _, o := range outputs(keyPart) {
			out = append(out, column{p, o[0], o[1]})
		}
		return out
	}
	var side, byHead []column
	for p := queryPart; p <= valuePart; p++ {
		side = append(side, part(p)...)
	}
	for h := range layoutGroups {
		for p := queryPart; p <= valuePart; p++ {
			for e := range layoutWidth {
				byHead = append(byHead, column{p, h, e})
			}
		}
	}
	for i := range 3 {
		for _, c := range []struct {
			layout  Layout
			columns []column
		}{{QuerySide + Layout(i), side}, {QueryOfGroup + Layout(i), byHead}} {
			shape := []int{layoutIn, layoutGroups * layoutWidth}
			got, err := readAll(c.layout, tensor(c.columns, c.layout == QuerySide+Layout(i)), shape,
				each)
			if err != nil {
				t.Fatalf("%s: %v", layoutNames[c.layout], err)
			}
			if want := tensor(part(queryPart+i), true); !cmp.Equal(got, want) {
				t.Errorf("%s = %v, want %v", layoutNames[c.layout], got, want)
			}
		}
	}
}

// TestLayoutsOfFour: four times a quarter of the queries, the values and the keys.
func TestLayoutsOfFour(t *testing.T) {
	const heads = 8
	each := &spec.Spec{Heads: heads, HeadWidth: layoutWidth}
	quarter := func(part, n int) (out []column) {
		for h := 2 * n; h < 2*n+2; h++ {
			for e := range layoutWidth {
				out = append(out, column{part, h, e})
			}
		}
		return out
	}
	var all []column
	for n := range 4 {
		for _, part := range []int{queryPart, valuePart, keyPart} {
			all = append(all, quarter(part, n)...)
		}
	}
	for i := range 3 {
		got, err := readAll(QueryOfFour+Layout(i), tensor(all, false),
			[]int{layoutIn, heads * layoutWidth}, each)
		must(t, err)
		var want []column
		for n := range 4 {
			want = append(want, quarter(queryPart+i, n)...)
		}
		if !cmp.Equal(got, tensor(want, true)) {
			t.Errorf("%s = %v, want %v", layoutNames[QueryOfFour+Layout(i)], got,
				tensor(want, true))
		}
	}
}

// TestMultiQuery: one key and one value after all queries (Falcon-7B).
func TestMultiQuery(t *testing.T) {
	spec := &spec.Spec{Heads: layoutHeads, KeyValueHeads: 1, HeadWidth: layoutWidth}
	columns := columnsOf(queryPart)
	for _, p := range []int{keyPart, valuePart} {
		for e := range layoutWidth {
			columns = append(columns, column{p, 0, e})
		}
	}
	got, err := readAll(ValueOfGroup, tensor(columns, false), []int{layoutIn, layoutWidth}, spec)
	must(t, err)
	if want := tensor(columns[len(columns)-layoutWidth:], true); !cmp.Equal(got, want) {
		t.Errorf("value of the only group = %v, want %v", got, want)
	}
}

// checkLayout reads the matrix and the bias of a part, and checks the shapes of their tensors.
func checkLayout(t *testing.T, y Layout, s *spec.Spec, columns []column, part int) {
	t.Helper()
	shape, bias := []int{layoutIn, len(outputs(part))}, []int{len(outputs(part))}
	wantShape := []int{len(columns), layoutIn}
	if y == AsIs {
		wantShape = shape
	}
	if got := y.shape(shape, s); !cmp.Equal(got, wantShape) {
		t.Errorf("tensor of shape %v, want %v", got, wantShape)
	}
	if got, want := y.shape(bias, s), []int{len(columns)}; !cmp.Equal(got, want) {
		t.Errorf("bias of shape %v, want %v", got, want)
	}
	got, err := readAll(y, tensor(columns, y == AsIs), shape, s)
	must(t, err)
	if want := parameter(part); !cmp.Equal(got, want) {
		t.Errorf("matrix = %v, want %v", got, want)
	}
	var fused, want []float32
	for _, c := range columns {
		fused = append(fused, digits(c.part, c.h, c.e, 0))
	}
	for _, o := range outputs(part) {
		want = append(want, digits(part, o[0], o[1], 0))
	}
	if got, err := readAll(y, fused, bias, s); err != nil || !cmp.Equal(got, want) {
		t.Errorf("bias = %v, %v, want %v", got, err, want)
	}
}

// TestLayoutPieces: matrices with more values than are read at a time, and with more rows than are
// copied at a time.
func TestLayoutPieces(t *testing.T) {
	s := &spec.Spec{Heads: 1, HeadWidth: 1}
	const in, out = 3, 30_000
	rows := make([]float32, in*out) // [out,in]
	want := make([]float32, in*out) // [in,out]
	for o := range out {
		for i := range in {
			rows[o*in+i] = float32(in*o + i)
			want[i*out+o] = float32(in*o + i)
		}
	}
	if got, err := readAll(Transposed, rows, []int{in, out}, s); err != nil ||
		!cmp.Equal(got, want) {
		t.Errorf("transposed of [%d,%d] differs, error %v", out, in, err)
	}
	if got, err := readAll(AsIs, want, []int{in, out}, s); err != nil || !cmp.Equal(got, want) {
		t.Errorf("as is of [%d,%d] differs, error %v", in, out, err)
	}
}

// A tensor that cannot be read ends the reading.
func TestLayoutReadFails(t *testing.T) {
	s := &spec.Spec{Heads: 1, HeadWidth: 4}
	broken := errors.New("broken")
	for y := AsIs; y <= UpRows; y++ {
		err := y.read([]int{2, 4}, s, &scratch{}, func([]float32, int) error { return broken },
			func(int, []float32) {})
		if !errors.Is(err, broken) {
			t.Errorf("%s: error %v, want %v", layoutNames[y], err, broken)
		}
	}
}
