package attribution_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
)

// TestBytes writes tokens that are parts of 🙂, F0 9F 99 82, and reads the same bytes back.
func TestBytes(t *testing.T) {
	e := attribution.Explanation{
		Prompt: attribution.Prompt{Texts: []string{"a<", "\xf0\x9f", "\x99\x82"}},
		Steps: []attribution.GeneratedToken{{
			ID: 1, Text: "b\xf0",
			Alternatives: []attribution.Alternative{{ID: 2, Text: "\x9f"}, {ID: 3, Text: "\ufffd"}},
		}},
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	must(t, encoder.Encode(e))
	for _, want := range []string{
		`"texts":["a<","` + "��\",\"��" + `"]`, `"bytes":[null,[240,159],[153,130]]}`,
		`"text":"b�"`, `"bytes":[98,240]}`, `{"id":2,"text":"�","probability":0,"bytes":[159]}`,
		`{"id":3,"text":"�","probability":0}`,
	} {
		if got := strings.ReplaceAll(b.String(), `\ufffd`, "�"); !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %s", got, want)
		}
	}
	var read attribution.Explanation
	must(t, json.Unmarshal(b.Bytes(), &read))
	if diff := cmp.Diff(e, read); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	for _, wrong := range []string{"[98,300]", "[98,65]", "[98]", `"x"`} {
		damaged := strings.Replace(b.String(), "[98,240]", wrong, 1)
		if err := json.Unmarshal([]byte(damaged), &read); err == nil {
			t.Errorf("bytes %s of b� are read", wrong)
		}
	}
}
