package golden

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/testhelp"
)

var must = testhelp.Must // ends a test at an error

// recorded returns the tensors of a recording of two texts of three tokens, of which the second is
// padded on the left, and a tensor [2,2,3] with the numbers 0 to 11.
func recorded() map[string]checkpoint.Tensor {
	numbers := make([]float32, 12)
	for i := range numbers {
		numbers[i] = float32(i)
	}
	return map[string]checkpoint.Tensor{
		"input_ids":      {Shape: []int{2, 3}, Data: []int32{5, 6, 7, 0, 8, 9}},
		"padmask":        {Shape: []int{2, 3}, Data: []int32{1, 1, 1, 0, 1, 1}},
		"token_type_ids": {Shape: []int{2, 3}, Data: []int32{0, 0, 1, 0, 1, 1}},
		"x":              {Shape: []int{2, 2, 3}, Data: numbers},
	}
}

func open(t *testing.T, tensors map[string]checkpoint.Tensor) (*Golden, error) {
	t.Helper()
	var all []checkpoint.Tensor
	for name, tensor := range tensors {
		tensor.Name = name
		all = append(all, tensor)
	}
	path := filepath.Join(t.TempDir(), "golden.safetensors")
	must(t, checkpoint.WriteFile(path, all, nil))
	g, err := Open(path)
	if err == nil {
		t.Cleanup(func() { g.Close() })
	}
	return g, err
}

func TestBatch(t *testing.T) {
	g, err := open(t, recorded())
	must(t, err)
	for _, c := range []struct {
		pass          string
		bidirectional bool
		ids, types    [][]int
		begins        []int
		left          bool
	}{
		{"", false, [][]int{{5, 6, 7}, {0, 8, 9}}, nil, []int{0, 0}, false},
		{"pad.", false, [][]int{{5, 6, 7}, {8, 9}}, nil, []int{0, 1}, true},
		{"pad.", true, [][]int{{5, 6, 7}, {8, 9}}, nil, []int{0, 1}, false},
		{
			"types.", true,
			[][]int{{5, 6, 7}, {0, 8, 9}},
			[][]int{{0, 0, 1}, {0, 1, 1}},
			[]int{0, 0},
			false,
		},
	} {
		b, begins, err := g.Batch(c.pass, c.bidirectional)
		if err != nil {
			t.Errorf("Batch(%q): %v", c.pass, err)
			continue
		}
		if diff := cmp.Diff([]any{c.ids, c.types, c.begins, c.left},
			[]any{b.IDs, b.Types, begins, b.PadLeft}); diff != "" {
			t.Errorf("Batch(%q, %v) (-want +got):\n%s", c.pass, c.bidirectional, diff)
		}
	}
}

func TestPasses(t *testing.T) {
	tensors := recorded()
	tensors["hidden.0"], tensors["pad.hidden.0"] = tensors["x"], tensors["x"]
	g, err := open(t, tensors)
	must(t, err)
	if diff := cmp.Diff([]string{"", "pad."}, g.Passes()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPart(t *testing.T) {
	g, err := open(t, recorded())
	must(t, err)
	for _, c := range []struct {
		name     string
		text     int
		begin, n int
		axes     []int
		want     []float32
	}{
		{"whole", 1, 0, 3, nil, []float32{6, 7, 8, 9, 10, 11}},
		{"columns", 0, 1, 2, []int{1}, []float32{1, 2, 4, 5}},
		{"row", 1, 1, 1, []int{0}, []float32{9, 10, 11}},
		{"both", 1, 1, 1, []int{0, 1}, []float32{10}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := g.Part("x", c.text, c.begin, c.n, c.axes...)
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestRefuses: contents that do not fit together are an error when they are read.
func TestRefuses(t *testing.T) {
	batch := func(pass string) func(*Golden) error {
		return func(g *Golden) error { _, _, err := g.Batch(pass, false); return err }
	}
	part := func(i, begin, n int, axes ...int) func(*Golden) error {
		return func(g *Golden) error { _, err := g.Part("x", i, begin, n, axes...); return err }
	}
	ints := func(data []int32, shape ...int) checkpoint.Tensor {
		return checkpoint.Tensor{Shape: shape, Data: data}
	}
	floats := func(data []float32, shape ...int) checkpoint.Tensor {
		return checkpoint.Tensor{Shape: shape, Data: data}
	}
	for _, c := range []struct {
		name, tensor string
		value        checkpoint.Tensor
		use          func(*Golden) error // nil: opening
		err          string
	}{
		{
			"no texts", "input_ids", ints([]int32{}, 0, 3), nil,
			"input_ids has shape [0 3], want a matrix with at least one row and one column",
		},
		{"no tokens", "input_ids", ints([]int32{}, 2, 0), nil, "is it a golden?"},
		{"texts in a row", "input_ids", ints([]int32{1, 2}, 2), nil, "input_ids has shape [2]"},
		{
			"texts of numbers", "input_ids", floats([]float32{1}, 1, 1), nil,
			`tensor "input_ids" is F32`,
		},
		{
			"short mask", "padmask", ints([]int32{1, 1, 1}, 1, 3), batch("pad."),
			"padmask is [1,3], input_ids [2,3]",
		},
		{"empty mask", "padmask", ints([]int32{}, 0, 3), batch("pad."), "padmask has shape [0 3]"},
		{
			"mask of nothing", "padmask", ints([]int32{1, 1, 1, 0, 0, 0}, 2, 3), batch("pad."),
			"padmask leaves no token of text 1",
		},
		{
			"mask with a hole", "padmask", ints([]int32{1, 0, 1, 0, 1, 1}, 2, 3), batch("pad."),
			"tokens of text 0 that are not consecutive",
		},
		{
			"narrow types", "token_type_ids", ints([]int32{1, 1}, 2, 1), batch("types."),
			"token_type_ids is [2,1], input_ids [2,3]",
		},
		{
			"scalar", "x", floats([]float32{1}), part(0, 0, 1),
			"x has shape [], in which there is no text 0",
		},
		{
			"too few texts", "x", floats([]float32{1}, 1, 1), part(1, 0, 1),
			"x has shape [1 1], in which there is no text 1",
		},
		{
			"nothing in it", "x", floats([]float32{}, 2, 3, 0), part(0, 0, 3, 0),
			"x has shape [2 3 0], in which there is no text 0",
		},
		{
			"too few tokens", "x", floats([]float32{1, 2, 3, 4}, 2, 2), part(0, 1, 2, 0),
			"x has shape [2], which does not hold 3 tokens",
		},
		{
			"too few axes", "x", floats([]float32{1, 2, 3, 4}, 2, 2), part(0, 0, 1, 1),
			"x has shape [2], which does not hold 1 tokens",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			tensors := recorded()
			tensors[c.tensor] = c.value
			g, err := open(t, tensors)
			if c.use != nil {
				must(t, err)
				err = c.use(g)
			}
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
		})
	}
}
