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
	"github.com/headwater-ml/headwater/internal/testhelp"
)

var must = testhelp.Must // ends a test at an error
