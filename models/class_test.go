package models_test

import (
	"strings"
	"testing"
)

// TestClass finds classes by label and by number. A model that finds replaced tokens has one score
// and two classes.
func TestClass(t *testing.T) {
	for _, c := range []struct {
		golden, name string
		want         int
		err          string
	}{
		{"bert_cls", "LABEL_1", 1, ""},
		{"bert_cls", "label_0", 0, ""},
		{"bert_cls", "1", 1, ""},
		{"bert_cls", "LABEL_10", 0, `has no class "LABEL_10"; did you mean LABEL_0 or LABEL_1? it has LABEL_0, LABEL_1`},
		{"bert_cls", "neutral", 0, `has no class "neutral"; it has LABEL_0, LABEL_1`},
		{"electra_disc", "replaced", 1, ""},
		{"electra_disc", "2", 0, "it has original, replaced"},
		{"gpt2", "LABEL_0", 0, "has no classes"},
	} {
		t.Run(c.golden+" "+c.name, func(t *testing.T) {
			got, err := open(t, "testdata/goldens/"+c.golden).Class(c.name)
			if c.err == "" && (err != nil || got != c.want) {
				t.Errorf("Class = %d, %v; want %d", got, err, c.want)
			}
			if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("error %v; want %q", err, c.err)
			}
		})
	}
}
