package attribution_test

import (
	"testing"

	"github.com/headwater-ml/headwater/internal/fakemodel"
)

var near = fakemodel.Near

// must ends a test at an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
