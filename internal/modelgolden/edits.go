package modelgolden

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/checkpoint"
)

// EditCase is a run of a golden under edits, recorded with hooks of the reference implementation.
type EditCase struct {
	Edits []trace.Edit
	// Logits are those at the last position of the golden's text, [V].
	Logits []float32
}

// EditCases returns the cases of a folder, by golden. models/testdata/edits/make_edits.py writes
// it.
func EditCases(t testing.TB, folder string) map[string][]EditCase {
	t.Helper()
	text, err := os.ReadFile(folder + "/edits.json")
	must(t, err)
	var edits map[string][][]trace.Edit
	must(t, json.Unmarshal(text, &edits))
	recorded, err := checkpoint.Open(folder + "/edits.safetensors")
	must(t, err)
	defer recorded.Close()
	cases := map[string][]EditCase{}
	for name, all := range edits {
		logits, err := recorded.Float32(name)
		must(t, err)
		v := len(logits) / len(all)
		if len(logits) != v*len(all) {
			t.Fatalf("%s: %d logits for %d cases", name, len(logits), len(all))
		}
		for i, one := range all {
			cases[name] = append(cases[name], EditCase{one, logits[i*v : (i+1)*v]})
		}
	}
	return cases
}

// FromStart returns the edits of a whole text of n tokens as edits of one that is continued to n
// tokens: positions from the end count from that of the prompt there.
func (c EditCase) FromStart(n int) []trace.Edit {
	edits := slices.Clone(c.Edits)
	for i := range edits {
		edits[i].Positions = slices.Clone(edits[i].Positions)
		for k, at := range edits[i].Positions {
			edits[i].Positions[k] = (at + n) % n
		}
	}
	return edits
}
