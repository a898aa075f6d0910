package tokenizer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pairCase is two texts and what Hugging Face tokenizers made of them with each of the trained
// files, with control tokens and without; see testdata/record_pairs.py.
type pairCase struct {
	Pair [2]string
	Want map[string][2]struct {
		IDs, Types, Texts []int
		Offsets           [][2]int
	}
}

// TestPairs: ids, token types and offsets of two texts are those of the reference.
func TestPairs(t *testing.T) {
	var cases []pairCase
	readJSON(t, "pairs.json.gz", &cases)
	if len(cases) < 50 {
		t.Fatalf("%d pairs", len(cases))
	}
	const made = "bert_processing" // bert_cased with the older form of its post-processor
	files := map[string]*Tokenizer{
		made: edited(t, "bert_cased", "post_processor",
			`{"type":"BertProcessing","sep":["[SEP]",3],"cls":["[CLS]",2]}`),
	}
	for _, kind := range kinds {
		files[kind] = load(t, kind+".json")
	}
	for _, c := range cases {
		if len(c.Want) != len(files) {
			t.Fatalf("%q has %d files, want %d", c.Pair, len(c.Want), len(files))
		}
		for name, wants := range c.Want {
			for i, want := range wants {
				got, err := files[name].EncodePair(c.Pair[0], c.Pair[1], i == 0)
				if err != nil {
					t.Fatalf("%s: %q: %v", name, c.Pair, err)
				}
				types := []int{}
				for _, e := range got {
					types = append(types, e.Type)
				}
				offsets := make([][2]int, len(want.Offsets))
				for j, text := range want.Texts {
					if text < 0 {
						continue // a control token has no bytes
					}
					offsets[j] = byteOffsets(c.Pair[text], want.Offsets[j:j+1])[0]
					if text == 1 {
						offsets[j][0] += len(c.Pair[0]) + 1
						offsets[j][1] += len(c.Pair[0]) + 1
					}
				}
				for what, d := range map[string]string{
					"ids":     cmp.Diff(want.IDs, idsOf(got)),
					"types":   cmp.Diff(want.Types, types),
					"offsets": cmp.Diff(offsets, offsetsOf(got)),
				} {
					if d != "" {
						t.Errorf("%s: %s of %q (-want +got):\n%s", name, what, c.Pair, d)
					}
				}
			}
		}
	}
}
