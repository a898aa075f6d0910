package mutant

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

const file = `{"a":{"b":[1,"x\u2028<",null],"c":-2.50},"d":true,"a":false}`

// TestParse: a file that nothing was done to is the same value, with a key that comes twice.
func TestParse(t *testing.T) {
	v := Parse([]byte(file))
	got := strings.ReplaceAll(string(v.Text()), ",\n", ",")
	if got != file {
		t.Errorf("%s, want %s", got, file)
	}
	if keys := v.AllKeys(nil); !slices.Equal(keys, []string{"a", "b", "c", "d", "a"}) {
		t.Errorf("keys %q", keys)
	}
	if c := v.Get("a", "c"); c == nil || c.Raw != "-2.50" || v.Get("a", "d") != nil {
		t.Errorf("a.c is %+v", c)
	}
	v.Set("a", Object("e", "1"))
	v.Set("f", Scalar("2"))
	const want = `{"a":{"e":1},"d":true,"a":false,"f":2}`
	if got := strings.ReplaceAll(string(v.Text()), ",\n", ","); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestDamage: most files differ from the first one, some are JSON and some are not, and a seed
// makes the same ones again.
func TestDamage(t *testing.T) {
	changed, valid, texts := 0, 0, map[string]bool{}
	for i := range uint64(500) {
		make := func() string {
			r := rand.New(rand.NewPCG(1, i))
			v := Parse([]byte(file))
			v.Damage(r, []string{"pool"})
			return string(Scratch(r, v.Text()))
		}
		text := make()
		if text != make() {
			t.Fatalf("mutant %d is not the same again", i)
		}
		texts[text] = true
		if text != string(Parse([]byte(file)).Text()) {
			changed++
		}
		if json.Valid([]byte(text)) {
			valid++
		}
	}
	if changed < 490 || valid < 20 || valid > 400 || len(texts) < 400 {
		t.Errorf("%d of 500 changed, %d valid, %d different", changed, valid, len(texts))
	}
	if Scratch(rand.New(rand.NewPCG(1, 1)), nil) != nil {
		t.Error("an empty text has no bytes to damage")
	}
}
