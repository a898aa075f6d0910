package attribution_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
)

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
	if len(seen) < 8 {
		t.Errorf("only %d types were looked at", len(seen))
	}
}
