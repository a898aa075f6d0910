package server

import (
	"bytes"
	"encoding/gob"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/engine"
)

// TestKeepIsBounded checks that a large explanation is not kept, and that a cell then does not get
// an older one for the latest.
func TestKeepIsBounded(t *testing.T) {
	var l last
	keep := func(values int) {
		l.keep(&attribution.Explanation{
			Steps:   make([]attribution.GeneratedToken, 1),
			Methods: map[string]*attribution.Result{"rollout": {Rows: [][]float64{make([]float64, values)}}},
		}, engine.Request{})
	}
	has := func(want bool) {
		t.Helper()
		if _, err := l.latest(); (err == nil) != want {
			t.Errorf("the latest explanation: %v, want that it is kept: %v", err, want)
		}
	}
	has(false)
	keep(engine.MaxPicture / 8)
	has(true)
	keep(engine.MaxPicture/8 + 1)
	has(false)
	l.keep(&attribution.Explanation{}, engine.Request{}) // without a token
	has(false)
	keep(1)
	has(true)
}

// TestUploadsAreBounded joins the parts of a picture, forgets those of programs that ended when
// there is no more room, and refuses a picture that is too large.
func TestUploadsAreBounded(t *testing.T) {
	var whole bytes.Buffer
	if err := gob.NewEncoder(&whole).Encode(engine.Picture{Other: "a chart"}); err != nil {
		t.Fatal(err)
	}
	var u uploads
	add := func(name string, part []byte, want string) {
		t.Helper()
		err := u.add(engine.Request{Upload: name, Picture: part})
		if want == "" && err != nil || want != "" && (err == nil ||
			!strings.Contains(err.Error(), want)) {
			t.Errorf("a part of %s: %v, want %q", name, err, want)
		}
	}
	half := make([]byte, engine.MaxPicture/2)
	add("a", whole.Bytes()[:9], "")
	add("left", half, "")
	p, err := u.take(engine.Request{Upload: "a", Picture: whole.Bytes()[9:]})
	if err != nil || p.Other != "a chart" {
		t.Errorf("got %+v, %v", p, err)
	}
	add("b", half, "")
	add("b", half, "")
	if u.all["left"] != nil {
		t.Error("what a program left is kept")
	}
	add("b", half[:1], "larger than")
	if _, err := u.take(engine.Request{Upload: "b", Picture: whole.Bytes()[9:]}); err == nil {
		t.Error("the end of a picture alone is read")
	}
}
