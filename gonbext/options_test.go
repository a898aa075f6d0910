package gonbext

import (
	"errors"
	"reflect"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// ours are the fields of Options that say where to run and how to show, not what to compute.
var ours = map[string]bool{"Model": true, "Backend": true, "DType": true, "MaxMemory": true, "Filter": true, "Layer": true, "By": true}

// TestOptionsAreCarriedOver sets every field and looks for it on the other side: a field that attribution gains must
// not be forgotten here.
func TestOptionsAreCarriedOver(t *testing.T) {
	var o Options
	in := reflect.ValueOf(&o).Elem()
	for i := range in.NumField() {
		fill(t, in.Field(i), i+1)
	}
	out := reflect.ValueOf(o.attribution())
	for i := range out.NumField() {
		name := out.Type().Field(i).Name
		field := in.FieldByName(name)
		switch {
		case !field.IsValid():
			t.Errorf("attribution.Options.%s has no field in Options", name)
		case field.Kind() == reflect.Func:
			if field.Pointer() != out.Field(i).Pointer() {
				t.Errorf("%s is not carried over", name)
			}
		case !reflect.DeepEqual(field.Interface(), out.Field(i).Interface()):
			t.Errorf("%s = %v, want %v", name, out.Field(i), field)
		}
	}
	for i := range in.NumField() {
		name := in.Type().Field(i).Name
		if _, there := reflect.TypeFor[attribution.Options]().FieldByName(name); there == ours[name] {
			t.Errorf("Options.%s: in attribution %v, ours %v", name, there, ours[name])
		}
	}
}

// fill sets v to something that is not zero.
func fill(t *testing.T, v reflect.Value, n int) {
	t.Helper()
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(n))
	case reflect.Uint64:
		v.SetUint(uint64(n))
	case reflect.Float64:
		v.SetFloat(float64(n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("x")
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), n, n))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), n)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), n+i)
		}
	case reflect.Func:
		v.Set(reflect.MakeFunc(v.Type(), func([]reflect.Value) []reflect.Value { return nil }))
	default:
		t.Fatalf("a field of type %v: teach the test", v.Type())
	}
}

// A remark on what was interrupted counts what the model makes.
func TestRemarkCounts(t *testing.T) {
	steps := func(n int, encoder bool) *Explanation {
		return &Explanation{Model: trace.Info{Bidirectional: encoder}, Steps: make([]attribution.GeneratedToken, n)}
	}
	for _, c := range []struct {
		e                *Explanation
		made, doing, end string
	}{
		{steps(1, false), "1 token", "generating", "It ended after 1 token: no disk."},
		{steps(2, false), "2 tokens", "generating", "It ended after 2 tokens: no disk."},
		{steps(1, true), "1 prediction", "reading", "It ended after 1 prediction: no disk."},
		{steps(3, true), "3 predictions", "reading", "It ended after 3 predictions: no disk."},
	} {
		if c.e.Made() != c.made || doing(c.e) != c.doing {
			t.Errorf("%s, %s; want %s, %s", doing(c.e), c.e.Made(), c.doing, c.made)
		}
		if got := remark(t.Context(), c.e, errors.New("no disk")); got != c.end {
			t.Errorf("remark %q, want %q", got, c.end)
		}
	}
}
