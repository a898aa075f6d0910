// Package modeltest has the contracts of a mixing and of a family as code. The first test of a new
// one is one line:
//
//	func TestMine(t *testing.T) { modeltest.Mixing(t, "mine", mine{}) }
//	func TestOurs(t *testing.T) { modeltest.Family(t, ours, "testdata/ours") }
//
// A mixing is tested on small random models. A family is tested on goldens: folders that
// models/testdata/goldens/make_goldens.py records with the reference implementation.
package modeltest

import (
	"math"
	"testing"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend" // what the contracts run on

	"github.com/headwater-ml/headwater/internal/testhelp"
)

// backend returns the pure-Go backend.
func backend(t testing.TB) compute.Backend {
	t.Helper()
	b, err := compute.NewWithConfig("go:ops_sequential")
	must(t, err)
	return b
}

var must = testhelp.Must // ends a test at an error

// checkNear fails the test if a number differs from the expected one by more than tol, or is not a
// number.
func checkNear(t testing.TB, what string, got, want []float32, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d numbers, want %d", what, len(got), len(want))
		return
	}
	for i := range got {
		if d := math.Abs(float64(got[i]) - float64(want[i])); !(d <= tol) {
			t.Errorf("%s: element %d of %d = %v, want %v: %g apart, at most %g", what, i, len(got),
				got[i], want[i], d, tol)
			return
		}
	}
}
