package render

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dop251/goja"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
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
		heatmapScript, headsScript, mapsTouch, layersTouch, flowTouch, sourcesTouch,
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
	m := machine(t, commonSource, scaleSource, headsSource, openedSource)
	for expression, want := range map[string]string{
		"quoted('key', 2, 4, 'generated')":                                    "“key” (2)",
		"quoted('are', 4, 4, 'generated')":                                    "“are” (generated 1)",
		"quoted('שלום', 0, 1, '')":                                            "“\u2068שלום\u2069” (0)",
		"[clamp(-1, 3), clamp(3, 3)].join()":                                  "0,2",
		"[within(3, 3, 9), within(2, 3, 9), within(undefined, 3, 9)].join()":  "9,2,9",
		"[1, -1, grey, none].map(colorsOf(0)).join()":                         "#111,,#8884,#888a",
		"largest(4, (j) => [1, 3, 2, 3][j]) + ',' + largest(2, () => 0)":      "1,-1",
		"[0.123, 0.0456].map((x) => percent(x)).join() + percent(0.04, true)": "12 %,4.6 %≈ 4 %",
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

// TestScriptHeads: the script says of every head and token what Go says.
func TestScriptHeads(t *testing.T) {
	for _, e := range []*attribution.Explanation{example(), encoded(trace.MaskedToken)} {
		r := attended(e, 2, 2)
		random := rand.New(rand.NewPCG(17, 17))
		for i := range r.Attention.Data {
			x := random.Float32()
			r.Attention.Data[i] *= x * x * x
		}
		h := r.open()
		code, _ := headsBoard{newBoard(h.drawing, "", 0), h}.scriptData(1e6)
		m := machine(t, commonSource, scaleSource, headsSource)
		must(t, m.Set("data", string(unpacked(t, code))))
		run[any](t, m, "var heads = attentionOf(JSON.parse(data))")
		for cell := range 4 * h.Tokens {
			layer, head, i := cell/2/h.Tokens, cell/h.Tokens%2, cell%h.Tokens
			got := run[string](t, m, fmt.Sprintf(
				"heads.sentence(%d, %d, %d).map(([text]) => text).join('')", layer, head, i))
			if want := h.sentence(layer, head, i).String(); got != want {
				t.Errorf("the script says %q, want %q", got, want)
			}
		}
	}
}
