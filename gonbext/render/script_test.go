package render

import (
	"cmp"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/dop251/goja"

	"github.com/headwater-ml/headwater/attribution"
)

// machine runs scripts without a browser: what they define outside of start is there, and no
// picture is on the page.
func machine(t *testing.T, sources ...string) *goja.Runtime {
	t.Helper()
	m := goja.New()
	_, err := m.RunString("const window = {};\n" + strings.Join(sources, "\n"))
	must(t, err)
	return m
}

// run returns what an expression is there.
func run[T any](t *testing.T, m *goja.Runtime, expression string) (v T) {
	t.Helper()
	got, err := m.RunString(expression)
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	must(t, m.ExportTo(got, &v))
	return v
}

// TestScriptsStart: every script begins without a mistake where there is nothing to unpack with.
func TestScriptsStart(t *testing.T) {
	for _, source := range []func() string{
		heatmapScript, headsScript, panelsScript, graphScript, sourcesScript,
		boardScript,
	} {
		m := goja.New()
		must(t, m.Set("window", map[string]any{}))
		if _, err := m.RunString(source()); err != nil {
			t.Error(err)
		}
	}
}

// TestScriptRows reads packed rows as they stand in JSON.
func TestScriptRows(t *testing.T) {
	m := machine(t, commonSource)
	values := []float64{0.25, math.NaN(), -0.5, 0}
	row := packRow(values, exactParts, 1, func(int, float64) bool { return true })
	text, err := json.Marshal(row)
	must(t, err)
	must(t, m.Set("text", string(text)))
	if n := run[int](t, m, "sizeOf(JSON.parse(text))"); n != len(values) {
		t.Errorf("%d values, want %d", n, len(values))
	}
	for j, want := range values {
		must(t, m.Set("j", j))
		got := run[float64](t, m, "valueOf(JSON.parse(text), j)")
		if got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("value %d is %v, want %v", j, got, want)
		}
	}
}

// TestScriptCommon has known answers of what all scripts share.
func TestScriptCommon(t *testing.T) {
	m := machine(t, commonSource, scaleSource)
	for expression, want := range map[string]string{
		"[clamp(-1, 3), clamp(3, 3)].join()":                                  "0,2",
		"[within(3, 3, 9), within(2, 3, 9), within(undefined, 3, 9)].join()":  "9,2,9",
		"[0.123, 0.0456].map((x) => percent(x)).join() + percent(0.04, true)": "12 %,4.6 %≈ 4 %",
	} {
		if got := run[string](t, m, expression); got != want {
			t.Errorf("%s is %q, want %q", expression, got, want)
		}
	}
}

// TestScriptNumbers writes values of every kind of scale as sentences do.
func TestScriptNumbers(t *testing.T) {
	m := machine(t, commonSource, scaleSource)
	random := rand.New(rand.NewPCG(11, 11))
	for _, unit := range []string{"share of attention", "part of the logit", "lift", "norm"} {
		for _, size := range []float64{1e-7, 1e-3, 0.04, 1, 30, 2e4} {
			facts := ofUnit(unit)
			kind := map[attribution.Quantity]string{
				attribution.Share: "share", attribution.Lift: "lift",
			}[facts.Quantity]
			var values []float64
			for range 100 {
				x := size * random.Float64()
				switch {
				case unit == "part of the logit":
					x -= size / 2
				case facts.Quantity == attribution.Lift:
					x = math.Exp2(min(size, 6) * (2*random.Float64() - 1))
				case facts.Quantity == attribution.Share && x > 1:
					continue
				}
				values = append(values, x)
			}
			values = append(values, 0)
			top := newScale(unit, facts.Quantity, values)
			must(t, m.Set("method", map[string]any{
				"kind": cmp.Or(kind, "amount"), "signed": top.signed, "digits": top.digits,
				"power": top.power,
			}))
			for _, x := range values {
				must(t, m.Set("x", x))
				got := run[string](t, m, "format(method, x, 0)")
				if want := strings.ReplaceAll(top.value(x), "-", "−"); got != want {
					t.Errorf("%s of %v: the script writes %s, sentences %s", unit, x, got, want)
				}
			}
		}
	}
}

// TestSignificant: a legend names where each step of a scale begins, with two significant digits,
// and never as 0; the script writes the same.
func TestSignificant(t *testing.T) {
	m := machine(t, commonSource, scaleSource)
	for x, want := range map[float64]string{
		0.04 / 24: "0.0017", 0.04 / 8: "0.0050", 0.04 * 0.8: "0.032", 5.8 / 24: "0.24",
		5.8 * 0.8: "4.6", 9.96: "10", 0.0996: "0.10", 99.6: "100", 1234: "1200", 4e-7: "4.0e-07",
		6.3e8: "6.3e+08", 1e-300: "1.0e-300",
	} {
		must(t, m.Set("x", x))
		if got, script := significant(x), run[string](t, m, "significant(x)"); got != want ||
			script != want {
			t.Errorf("%v is %q, and %q by the script, want %q", x, got, script, want)
		}
	}
	v := view{}
	for _, of := range []attribution.Quantity{attribution.Amount, attribution.Share} {
		v.top = newScale("unit", of, []float64{0.04})
		v.colors = v.top
		for step := 1; step <= levels; step++ {
			if text := v.stepBegins(step, 0); strings.Trim(text, "0. %") == "" {
				t.Errorf("step %d of %v begins at %q", step, of, text)
			}
		}
	}
}

// readingSource defines what a script reads of a text of six prompt tokens, two of them folded, and
// two generated ones: row 0 of method m is that of the first, and row 1 says nothing.
const readingSource = `
const m = {name: 'm', kind: 'amount', limit: 2, has: 2, grey: new Set([0]), silent: {1: 'mute'},
	values: [[9, 1, 0.5, -2, 0.01, NaN, 0.25], []], named: [[1, 2, 3], []]};
const data = {m: 6, n: 2, sources: 7, chosen: 0, lead: 'm', methods: [m, {name: 'o'}],
	names: ['<s>', 'in', 'side', 'a', 'b', 'c', 'd', 'e'], roles: 'tpppppgg', spaces: '00012111',
	sorts: 'mwwwwwww',
	turns: [['', 0, 8]], given: 'prompt', units: 'tokens', words: [0, 1, 1, 3, 4, 5, 6, 7],
	columns: [[0, 1, ''], [1, 2, ''], [2, 3, ''], [3, 4, ''], [4, 6, '2 words'], [6, 7, '']]};
const look = (choice) => readingOf(data, {unfolded: [], ...choice});
const columns = (choice) => {
	const {columnsNow, labelOf} = look(choice);
	return columnsNow().map((column) => column.tokens.join('+') + (column.gap ? ' gap ' : ' ') +
		labelOf(column)).join(', ');
};`

// TestScriptReading has known answers of what the script of a heatmap reads of its data.
func TestScriptReading(t *testing.T) {
	m := machine(t, commonSource, scaleSource, matrixSource, heatmapSource, readingSource)
	for _, c := range [][2]string{
		// A number has no sign where no digit of it is seen, and no digits from 99.95 on.
		{
			"[fixed(-0.001, 2), fixed(-0.006, 2), fixed(99.94, 1), fixed(99.96, 1)].join()",
			"0.00,-0.01,99.9,100",
		},
		{"exponential('1.5e-7') + ' ' + exponential('1e+12')", "1.5e-07 1e+12"},
		{"[percent(0.9996), percent(0.123), percent(0.0123)].join()", "100 %,12 %,1.2 %"},
		{"format(m, undefined) + ',' + format(m, NaN)", ",NaN"},
		{"inCell({kind: 'share', cellDigits: 0}, 0.126) + inCell({cellDigits: 1}, 0.04)", "13"},

		// Places end at 1, no number is at 0, and lifts are placed by their logarithms.
		{
			"[placeOf(m, 1), placeOf(m, -9), placeOf(m, NaN), placeOf(m, 1, 4)].join()",
			"0.5,-1,0,0.25",
		},
		{"[2, 0.25, 99].map((x) => placeOf({kind: 'lift', limit: 4}, x)).join()", "0.5,-1,1"},
		// Each step of the scale, just below it and at it.
		{
			"stepsAt.map((least) => classOf(least - 1e-9) + classOf(-least)).join()",
			"n1,p1n2,p2n3,p3n4,p4n5,p5n6",
		},

		// What stands out is in the order that Go says, and nothing does in a row without values.
		{"look().namedOf(m, 0) + ' ' + look().namedOf(m, 1) + ' ' + look().namedOf(data.methods[1], 0)", "1,2,3  "},
		{"look().strongestOf(m, 1)", "1e-9"},
		{"look().valueIn(m, 0, [0, 1, 2]) + ',' + look().valueIn(m, 0, [1, 3])", "1,-2"},
		{"String(look().valueIn(m, 0, [7]))", "undefined"},
		{"look({source: 3}).given(m).join()", "-1,0,-2"},

		// The list has the sources from the second step and a quarter of the strongest on, or else
		// the strongest; the details have all, and what they add up to.
		{"chipsOf(look(), m, 0).join(';')", "3,-1;1,0.5;2,0.25"},
		{"chipsOf(look(), {...m, values: [[9, 0.1]]}, 0).join(';')", "1,0.05"},
		{
			"partsOf(look(), {...m, values: [[9, 1, .5, -2, .25]], digits: 1, whole: [10], wholeIs: 'logit'}, 0).join(';')",
			"a,prompt 3,−2.0;in,prompt 1,1.0;side,prompt 2,0.5;b,prompt 4,0.3;" +
				"sinks and what is not in the scale,,9.0;the rest of the model,,1.3;" +
				"all together: logit,,10.0,true",
		},
		{"partsOf(look(), {...m, maximum: true, digits: 1}, 0).length", "5"},

		{"columns()", "0 <s>, 1 in, 2 side, 3 a, 4+5 gap 2 words, 6 d"},
		{"columns({all: true})", "0 <s>, 1 in, 2 side, 3 a, 4 b, 5 c, 6 d"},
		{"columns({unfolded: [4]})", "0 <s>, 1 in, 2 side, 3 a, 4 b, 5 c, 6 d"},
		// Of words, what the template writes and punctuation have no column.
		{
			"readingOf({...data, whole: true, sorts: 'mwmwwwww'}, {unfolded: []}).columnsNow().map(({tokens}) => tokens[0])",
			"1,3,4,6",
		},

		{
			"look({row: 1}).row() + ',' + look({row: 2}).row() + ',' + look({method: 'o'}).method().name",
			"1,0,o",
		},
		{"look({method: 'gone'}).method().name + ',' + look({source: 8}).source()", "m,-1"},
		{"[5, 6, 7, 8].map(look().rowAt).join() + ' ' + look().tokenOf(1)", "-1,0,1,-1 7"},
		{"look().whereIs(2) + ', ' + look().whereIs(6)", "prompt 2, generated 1"},
		{"look().around(2)", "“<s>inside a ↵ b”"},
	} {
		if got := run[string](t, m, "String("+c[0]+")"); got != c[1] {
			t.Errorf("%s is %q, want %q", c[0], got, c[1])
		}
	}
}

// TestScriptPanels has known answers of what matrices of layers and maps are drawn with.
func TestScriptPanels(t *testing.T) {
	m := machine(t, commonSource, scaleSource, matrixSource, panelsSource)
	_, err := m.RunString(`const k = {kind: "amount", limit: 1}, sinks = new Set([3]);`)
	must(t, err)
	for expression, want := range map[string]string{
		"ranked(k, [0.2, -0.9, 0.01, 5, NaN, 0.3], sinks).join()":                        "1,5,0",
		"[['a'], ['a', 'b'], ['a', 'b', 'c']].map((x) => joined(x).join('')).join(';')":  "a;a and b;a, b and c",
		"[[], [0.9, true], [0], [-1]].map(([x, isGrey]) => stepAt(k, x, isGrey)).join()": ",hm-sink,hm-z,n6",
	} {
		if got := run[string](t, m, expression); got != want {
			t.Errorf("%s is %q, want %q", expression, got, want)
		}
	}
}

// TestScriptGraph: an edge leaves its nodes upright, parts are known from both of their ends, the
// largest first, and keys lead to the nearest node.
func TestScriptGraph(t *testing.T) {
	m := machine(t, commonSource, scaleSource, matrixSource, graphSource)
	_, err := m.RunString(`const nodes = nodesIn({
		nodes: [[0, 8], [4, 8], [0, 2], [4, 1]].map(([x, y]) => [x, y, -1, 'n' + x + y]),
		parts: [[], [], [0, 250, 1, -500], [1, 125]],
	});`)
	must(t, err)
	for expression, want := range map[string]string{
		"curveOf({x: 0, y: 8}, {x: 4, y: 2}, 0)":                                                 "M0 8C0 5 4 5 4 2",
		"curveOf({x: 0, y: 9}, {x: 4, y: 1}, 2)":                                                 "M0 8C0 5 4 5 4 2",
		"nodes[2].from.map(([n, x]) => n.i + ' ' + x)+''":                                        "1 -0.5,0 0.25",
		"nodes[1].to.map(([n, x]) => n.i + ' ' + x)+''":                                          "2 -0.5,3 0.125",
		"[[1, 0], [0, 1], [-1, 0], [0, -1]].map(([u, a]) => nextTo(nodes, nodes[0], u, a).i)+''": "2,1,0,0",
	} {
		if got := run[string](t, m, expression); got != want {
			t.Errorf("%s is %q, want %q", expression, got, want)
		}
	}
}

// What a script gets beside the text hides nothing of it: no name stands twice.
func TestScriptNames(t *testing.T) {
	for _, data := range []any{boardData{}, headsData{}, heatmapData{}, panelsData{}, graphData{}} {
		seen := map[string]bool{}
		for _, field := range reflect.VisibleFields(reflect.TypeOf(data)) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name != "" && seen[name] {
				t.Errorf("%T has the name %q twice", data, name)
			}
			seen[name] = true
		}
	}
}
