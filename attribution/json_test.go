package attribution_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/study/heads"
	"github.com/headwater-ml/headwater/internal/study/lens"
	"github.com/headwater-ml/headwater/internal/study/patch"
	"github.com/headwater-ml/headwater/internal/study/scores"
	"github.com/headwater-ml/headwater/internal/study/verdict"
	"github.com/headwater-ml/headwater/internal/study/without"
)

// pandasAlone stands for pandas where it is not installed: a frame is its lines.
const pandasAlone = `
def DataFrame(lines, columns):
    return [dict(zip(columns, line)) for line in lines]
`

// saysOfFrame follows the example and prints the lines of its frame.
const saysOfFrame = `
print(json.dumps(frame if isinstance(frame, list) else frame.to_dict("records")))
`

// The example of docs/json.md runs and has every number in its place.
func TestJSONInPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	text, err := os.ReadFile("../docs/json.md")
	must(t, err)
	_, code, _ := strings.Cut(string(text), "```python\n")
	code, _, _ = strings.Cut(code, "```")
	e := explain(t, sharpFake(3), "w1 w2 w3",
		attribution.Options{Methods: []string{"rollout", "flow"}, MaxTokens: 3})
	saved, err := json.Marshal(e)
	must(t, err)
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "explanation.json"), saved, 0o600))
	if exec.Command(python, "-c", "import pandas").Run() != nil {
		must(t, os.WriteFile(filepath.Join(dir, "pandas.py"), []byte(pandasAlone), 0o600))
	}
	cmd := exec.Command(python, "-c", code+saysOfFrame) //nolint:gosec // the program is python3
	cmd.Dir = dir
	out, err := cmd.Output()
	must(t, err)
	var lines []struct {
		Method, Text          string
		Target, Layer, Source int
		Value                 float64
	}
	must(t, json.Unmarshal(out, &lines))
	want := 0
	for _, r := range e.Methods {
		want += len(slices.Concat(r.Rows...))
	}
	if len(lines) != want || want != (3*3+3)*(3+1) {
		t.Errorf("%d lines, want %d", len(lines), want)
	}
	for _, x := range lines {
		r := e.Methods[x.Method]
		source := append(e.Prompt.Texts[:3:3], "w4", "w5", "w6")[x.Source]
		if k := slices.Index(r.Layers, x.Layer); r.At(x.Target, x.Source, k) != x.Value ||
			x.Text != source {
			t.Errorf("%+v; the value is %v of %s", x, r.At(x.Target, x.Source, k), source)
		}
	}
}

// TestJSONIsDescribed finds every field of an explanation in docs/json.md.
func TestJSONIsDescribed(t *testing.T) {
	text, err := os.ReadFile("../docs/json.md")
	must(t, err)
	seen := map[reflect.Type]bool{}
	var find func(of reflect.Type)
	find = func(of reflect.Type) {
		switch of.Kind() {
		case reflect.Map, reflect.Pointer, reflect.Slice, reflect.Array:
			find(of.Elem())
		case reflect.Struct:
			if seen[of] {
				return
			}
			seen[of] = true
			for i := range of.NumField() {
				name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
				if name == "-" {
					continue
				}
				if !strings.Contains(string(text), "`"+name+"`") {
					t.Errorf("%v: %q is not described", of, name)
				}
				find(of.Field(i).Type)
			}
		}
	}
	find(reflect.TypeFor[attribution.Explanation]())
	for _, found := range []any{
		lens.Text{}, lens.Layers{}, heads.Kinds{}, heads.Writes{}, patch.Result{},
		verdict.Verdict{}, without.Part{}, without.Difference{}, scores.Prompt{},
	} {
		find(reflect.TypeOf(found))
	}
	if len(seen) < 8 {
		t.Errorf("only %d types were looked at", len(seen))
	}
}
