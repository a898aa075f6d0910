package sources_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/sources"
)

func divide(t *testing.T, by string, documents ...string) *sources.Context {
	t.Helper()
	division, err := sources.ParseDivision(by)
	must(t, err)
	c, err := sources.NewContext(documents, division)
	must(t, err)
	return c
}

// TestText: what is left when sources are taken out, by hand.
func TestText(t *testing.T) {
	two := []string{"A b. C d.\n\nE f.", " G h.\nI j. \n"}
	for _, c := range []struct {
		name, by  string
		documents []string
		keep      string // 1 for each source that stays
		want      string
	}{
		{"all", "sentence", two, "11111", "A b. C d.\n\nE f.\n\nG h.\nI j."},
		{"none", "sentence", two, "00000", ""},
		{"first", "sentence", two, "01111", "C d.\n\nE f.\n\nG h.\nI j."},
		{"end of a paragraph", "sentence", two, "10111", "A b.\n\nE f.\n\nG h.\nI j."},
		{"a paragraph", "sentence", two, "11011", "A b. C d.\n\nG h.\nI j."},
		{"end of a document", "sentence", two, "11110", "A b. C d.\n\nE f.\n\nG h."},
		{"beginning of a document", "sentence", two, "11101", "A b. C d.\n\nE f.\n\nI j."},
		{"paragraphs", "paragraph", two, "101", "A b. C d.\n\nG h.\nI j."},
		{"spans", "4:7,12:16", []string{"the red key, blue lamp"}, "01", "the key, blue lamp"},
		{"no span", "4:7,13:17", []string{"the red key, blue lamp"}, "00", "the key, lamp"},
		{"span in brackets", "1:4,6:7", []string{"(red) b"}, "01", "() b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			context := divide(t, c.by, c.documents...)
			if len(context.Sources) != len(c.keep) {
				t.Fatalf("sources %v, want %d", context.Sources, len(c.keep))
			}
			var keep []bool
			for _, r := range c.keep {
				keep = append(keep, r == '1')
			}
			if got := context.Text(keep); got != c.want {
				t.Errorf("text %q, want %q", got, c.want)
			}
		})
	}
}

// TestSources: each source knows its place.
func TestSources(t *testing.T) {
	documents := []string{"A b. C d.\n\nE f.", " G h.\nI j. \n"}
	var paragraphs []int
	for _, s := range divide(t, "", documents...).Sources {
		if got := documents[s.Document][s.Begin:s.End]; got != s.Text {
			t.Errorf("bytes %d:%d of document %d are %q, want %q", s.Begin, s.End, s.Document, got,
				s.Text)
		}
		paragraphs = append(paragraphs, s.Paragraph)
	}
	if want := []int{0, 0, 1, 2, 2}; len(paragraphs) != 5 || [5]int(paragraphs) != [5]int(want) {
		t.Errorf("paragraphs %v, want %v", paragraphs, want)
	}
}

// TestContextRefusals: documents that cannot be divided, each with what to do.
func TestContextRefusals(t *testing.T) {
	for _, c := range []struct {
		name, by  string
		documents []string
		want      string
	}{
		{"empty", "", []string{"A b. C d.", " \n"}, "document 2 of 2 has no text; leave it out"},
		{"one sentence", "", []string{"A b."}, "the documents have 1 of the sentences that are"},
		{"one paragraph", "paragraph", []string{"A. B."}, "1 of the paragraphs"},
		{"no documents", "", nil, "0 of the sentences"},
		{"bytes of two", "0:1,2:3", []string{"A b", "C"}, "with 2 documents; give one"},
		{"beyond", "0:1,2:9", []string{"A b"}, "span 2:9; the document has bytes 0 to 3"},
		{"overlap", "0:3,2:4", []string{"A b c"}, "spans 0:3 and 2:4 overlap"},
		{"overlap in white space", "0:3,2:5", []string{"A  b c"}, "spans 0:3 and 2:5 overlap"},
		{"overlap of one with white space", "0:4,3:5", []string{"A b c"}, "spans 0:4 and 3:5 over"},
		{"within a character", "0:1,2:3", []string{"éa b"}, "begins or ends within a character"},
		{"white space", "0:1,1:2", []string{"A b"}, "span 1:2 is white space"},
		{"unknown", "sentences", nil, "did you mean sentence? want sentence, paragraph, or bytes"},
		{"backwards", "3:1", nil, "want sentence, paragraph, or bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			by, err := sources.ParseDivision(c.by)
			if err == nil {
				_, err = sources.NewContext(c.documents, by)
			}
			if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want a usage error with %q", err, c.want)
			}
		})
	}
}
