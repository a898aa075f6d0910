package render

import (
	"errors"
	"html"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// mapped returns maps over the text of an explanation: at level l a target has (l+1)/L from the
// token before it and the rest from itself; the first one has all from itself.
func mapped(e *attribution.Explanation, L int) Maps {
	T := textLength(e)
	m := &attribution.Map{
		Unit: "share of attention", Facts: attribution.Facts{Evidence: trace.Traced, Quantity: attribution.Share}, Shape: [3]int{L, T, T}, Data: make([]float64, L*T*T),
		Options: map[string]string{"heads": "mean", "aggregation": "layer"},
	}
	for l := range L {
		m.Layers = append(m.Layers, l)
		for i := range T {
			x := float64(l+1) / float64(L)
			if i == 0 {
				x = 0
			}
			m.Data[(l*T+i)*T+max(i-1, 0)] = x
			m.Data[(l*T+i)*T+i] = 1 - x
		}
	}
	return Maps{Explanation: e, Map: m, Method: "raw"}
}

func TestMaps(t *testing.T) {
	m := mapped(example(), 4)
	m.Layer = new(1)
	t.Run("notebook", func(t *testing.T) { goldenOf(t, m, panelsScript(), "panels.js") })
	t.Run("text", func(t *testing.T) { golden(t, asText(m)) })
	survives(t, panelsMarkup(t, m))
}

// TestMapsOpen opens the layer that a picture of the chosen token shows, unless another one is
// asked for.
func TestMapsOpen(t *testing.T) {
	e := example()
	e.Methods["raw"] = &attribution.Result{
		Shape: [3]int{2, 1, 2}, Layers: []int{1, 2}, Shown: []int{1, 2},
	}
	m := mapped(e, 4)
	if p := m.panels(); p.level != e.Methods["raw"].Shown[p.chosen] {
		t.Errorf("layer %d is open, want that of token %d", p.level, p.chosen)
	}
	m.Layer = new(0)
	if p := m.panels(); p.level != 0 {
		t.Errorf("layer %d is open, want 0", p.level)
	}
	e.Methods["raw"].Layers, m.Layer = []int{7, 8}, nil // of which there is no map
	if p := m.panels(); p.level != 3 {
		t.Errorf("layer %d is open, want the last one", p.level)
	}
}

// TestMapsSinks: maps have the sinks of the heatmap, whose rows are those of the generated tokens,
// whatever the rows of the prompt say. Without the rows of the heatmap, all rows of the map count.
func TestMapsSinks(t *testing.T) {
	for _, c := range []struct {
		name                string
		inRows, inMap       float64 // of the first token
		heatmap, maps, bare bool    // whether it is a sink; bare is without the rows
	}{
		{"a sink of the generated tokens alone", 0.6, 0.1, true, true, false},
		{"a sink of the prompt alone", 0.1, 0.6, false, false, true},
	} {
		e := example()
		n, m := len(e.Steps), len(e.Prompt.Texts)
		r := &attribution.Result{
			Unit: "share of attention", Facts: attribution.Facts{Evidence: trace.Traced, AddsUp: true, Quantity: attribution.Share}, Layers: []int{0}, Shape: [3]int{n, m, 1},
			Options: map[string]string{"aggregation": "layer"},
		}
		for range n {
			rest := (1 - c.inRows) / float64(m-1)
			r.Rows = append(r.Rows, []float64{c.inRows, rest, rest, rest, rest, rest, rest})
			r.OtherMass = append(r.OtherMass, 0)
		}
		maps := mapped(e, 1)
		for i, T := 1, maps.Map.Shape[1]; i < T; i++ {
			row := maps.Map.Data[i*T : (i+1)*T]
			clear(row)
			row[0], row[i] = c.inMap, 1-c.inMap
		}
		bare := maps.panels().grey[0]
		e.Order, e.Methods["raw"] = append(e.Order, "raw"), r
		heatmap := Heatmap{Explanation: e, Methods: []string{"raw"}}.picture(true).views[0].sinks
		got := maps.panels().grey
		if heatmap[0] != c.heatmap || got[0] != c.maps || bare != c.bare ||
			len(got) != maps.Map.Shape[1] {
			t.Errorf("%s: a sink in the heatmap: %t, in maps: %t, without rows: %t; want %t, %t, %t",
				c.name, heatmap[0], got[0], bare, c.heatmap, c.maps, c.bare)
		}
		if !slices.Equal(heatmap, got[:m]) {
			t.Errorf("%s: the sinks are %v in the heatmap and %v in maps", c.name, heatmap, got)
		}
	}
}

// TestMapsValues decodes the numbers of the script and compares the paints of a thumbnail.
func TestMapsValues(t *testing.T) {
	m := mapped(example(), 4)
	p := m.panels()
	list := &p.methods[0]
	if p.level != 3 || list.list[3].row != 6 {
		t.Errorf("level %d and target %d are shown, want 3 and 6, from which “are” is predicted",
			p.level, list.list[3].row)
	}
	// Level 1: half from the token before, half from itself.
	for i, row := range list.list[1].cells {
		for j := range row {
			step, half := list.step(&list.list[1], i, j), stepOf(list.colors.at(0.5))
			if (i == j || i == j+1) && i > 0 && step != half || j < i-1 && step != 0 || j > i {
				t.Errorf("target %d, source %d has colour %d", i, j, step)
			}
		}
	}
	var d panelsData
	scriptOf(t, written(t, m), &d)
	if x := d.Methods[0].List[2].Cells[3].value(2); x != 0.75 || d.Methods[0].Open != 3 {
		t.Errorf("the script has %v and opens %d, want 0.75 and 3", x, d.Methods[0].Open)
	}
	const say, facts = "inet has most from cab",
		"cab 100 % · layer 3 · share of attention · from there are is predicted"
	if one := list.list[3]; one.say.String() != say || one.facts.String() != facts {
		t.Errorf("it says %q and %q", one.say, one.facts)
	}
}

// TestMapsFolded: in a long text, rows and columns are folded where nothing stands out, and a
// folded cell has the strongest of its values.
func TestMapsFolded(t *testing.T) {
	const T = 300
	m := mapped(sizedBy(4, T-4, 1, "rollout"), 2)
	clear(m.Map.Data)
	for l := range 2 {
		m.Map.Data[(l*T+200)*T+100], m.Map.Data[(l*T+50)*T+20] = 1, 0.05
	}
	p := m.panels()
	at := func(j int) int {
		return slices.IndexFunc(p.columns, func(c TextColumn) bool {
			return c.From <= j && j < c.To
		})
	}
	one := &p.methods[0].list[0]
	if n := len(p.columns); n > 100 || p.columns[at(100)].Folded || !p.columns[at(20)].Folded ||
		len(one.cells) != n {
		t.Fatalf("%d columns and %d rows", n, len(one.cells))
	}
	cell := one.cells[at(50)][at(20)]
	if cell.value != 0.05 || cell.token != 20 || one.cells[at(200)][at(100)].value != 1 {
		t.Errorf("a folded cell has %v", cell)
	}
}

// TestMapsLevels: of many layers twelve have a thumbnail, among them the first, the last and the
// open one.
func TestMapsLevels(t *testing.T) {
	for _, c := range []struct {
		open, layers int
		want         []int
	}{
		{0, 1, []int{0}},
		{2, 3, []int{0, 1, 2}},
		{23, 30, []int{0, 3, 5, 8, 11, 13, 16, 18, 21, 23, 26, 29}},
		{29, 30, []int{0, 3, 5, 8, 11, 13, 16, 18, 21, 24, 26, 29}},
		{1, 13, []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12}},
	} {
		if got := levelsBeside(c.open, c.layers); !slices.Equal(got, c.want) {
			t.Errorf("%d of %d: %v, want %v", c.open, c.layers, got, c.want)
		}
	}
}

// TestMapsSizes draws long texts in the room of a notebook, with their numbers; without room for
// these there is no script, which a sentence says.
func TestMapsSizes(t *testing.T) {
	for _, T := range []int{40, 100, 300, 700} {
		m := mapped(sizedBy(4, T-4, 1, "rollout"), 13)
		random := rand.New(rand.NewPCG(7, 7))
		for i := range m.Map.Data {
			m.Map.Data[i] = random.Float64()
		}
		got := written(t, m)
		survives(t, panelsMarkup(t, m))
		if len(got) > 480_000 || !strings.Contains(got, "<script>") {
			t.Errorf("%d tokens: %d bytes, a script: %t", T, len(got),
				strings.Contains(got, "<script>"))
		}
		m.MaxBytes = 30_000
		if got = written(t, m); strings.Contains(got, "<script>") || len(got) > 35_000 ||
			!strings.Contains(got, noClicks+": with its numbers the picture would be larger than "+
				"30,000 bytes. Save the picture as a page") {
			t.Errorf("%d tokens: %d bytes without room for a script", T, len(got))
		}
	}
}

func TestMapsErrors(t *testing.T) {
	short, late := mapped(example(), 2), mapped(example(), 2)
	short.Map.Data = short.Map.Data[1:]
	late.Layer = new(2)
	for _, c := range []struct {
		maps Maps
		want string
	}{
		{Maps{}, "needs an explanation and a map"},
		{short, "does not fit a text of 10 tokens; it needs [layers 10 10]"},
		{late, `layer 2; the map of "raw" has layers 0 to 1`},
	} {
		err := c.maps.Check()
		if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
		for _, got := range []string{
			written(t, c.maps), strings.ReplaceAll(written(t, asText(c.maps)), "\n", " "),
		} {
			if !strings.Contains(html.UnescapeString(got), c.want) {
				t.Errorf("the picture says %q, want %q", got, c.want)
			}
		}
	}
}
