package render

import (
	"cmp"
	"encoding/json"
	"math"
	"math/rand/v2"
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
	colors, err := json.Marshal([][2]any{{"a", []string{"#111", "#222"}}})
	must(t, err)
	_, err = m.RunString("const palettes = " + string(colors) + ", window = {};\n" +
		strings.Join(sources, "\n"))
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
		heatmapScript, headsTouch, panelsScript, flowScript, sourcesTouch,
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
	m := machine(t, commonSource, openedSource, headsSource)
	for expression, want := range map[string]string{
		"quoted('key', 2, 4, 'generated')":                                   "“key” (2)",
		"quoted('are', 4, 4, 'generated')":                                   "“are” (generated 1)",
		"quoted('שלום', 0, 1, '')":                                           "“\u2068שלום\u2069” (0)",
		"[clamp(-1, 3), clamp(3, 3)].join()":                                 "0,2",
		"[within(3, 3, 9), within(2, 3, 9), within(undefined, 3, 9)].join()": "9,2,9",
		"[1, -1, grey, none].map(colorsOf(0)).join()":                        "#111,,#8884,#888a",
		"largest(4, (j) => [1, 3, 2, 3][j]) + ',' + largest(2, () => 0)":     "1,-1",
		"[0.123, 0.99951].map(share).join()":                                 "12.3 %,100 %",
		// The CRC-32 of these bytes is the check value of its catalogue.
		"checksum([...'123456789'].map((c) => c.charCodeAt(0))).toString(16)": "cbf43926",
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

// TestScriptPanels has known answers of what matrices of layers and maps are drawn with.
func TestScriptPanels(t *testing.T) {
	m := machine(t, commonSource, scaleSource, panelsSource)
	_, err := m.RunString(`const k = {kind: "amount", limit: 1}, sinks = new Set([3]);`)
	must(t, err)
	for expression, want := range map[string]string{
		"rankedIn(k, [0.2, -0.9, 0.01, 5, NaN, 0.3], sinks).join()":                        "1,5,0",
		"[joined(['a']), joined(['a', 'b']), joined(['a', 'b', 'c'])].join(';')":           "a;a and b;a, b and c",
		"[cellOf(k, undefined), cellOf(k, 0.9, true), cellOf(k, 0), cellOf(k, -1)].join()": ",hm-sink,hm-z,n6",
	} {
		if got := run[string](t, m, expression); got != want {
			t.Errorf("%s is %q, want %q", expression, got, want)
		}
	}
}

// TestScriptFlow: an edge leaves its nodes upright.
func TestScriptFlow(t *testing.T) {
	m := machine(t, commonSource, scaleSource, flowSource)
	if got, want := run[string](t, m, "curveOf([0, 8], [4, 2])"), "M0 8C0 5 4 5 4 2"; got != want {
		t.Errorf("an edge is %q, want %q", got, want)
	}
}
