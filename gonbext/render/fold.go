package render

import "fmt"

// A text of more than foldFrom tokens is folded: a stretch of at least foldLeast tokens of which
// none stands out is a part that a reader opens. foldNear tokens beside one that stands out, or
// beside the chosen one, stay. The script has the same numbers.
const (
	foldFrom  = 200
	foldLeast = 24
	foldNear  = 6
)

// folds says which tokens of a long text are folded. A nil value folds none.
type folds struct {
	paints []int       // of all tokens of the text in the chosen row
	length map[int]int // of the stretch that begins at a token
	last   map[int]bool
}

// newFolds returns the folds of the text for the chosen row, nil if the text is short.
func (b *page) newFolds() *folds {
	T := len(b.e.Prompt.Texts)
	if !b.e.Model.Reads() {
		T += len(b.e.Steps)
	}
	if T <= foldFrom {
		return nil
	}
	f := &folds{paints: make([]int, T), length: map[int]int{}, last: map[int]bool{}}
	stays := make([]bool, T)
	for j := range T {
		if b.lead >= 0 && j < b.views[b.lead].sources(b.chosen) {
			f.paints[j] = b.views[b.lead].paint(b.picture, b.chosen, j)
		}
		if chosen := b.framed(j); f.paints[j] != 0 || chosen {
			for k := max(j-foldNear, 0); k <= min(j+foldNear, T-1); k++ {
				stays[k] = true
			}
		}
	}
	for first := 0; first < T; first++ {
		end := first
		for end < T && !stays[end] {
			end++
		}
		if n := end - first; n >= foldLeast {
			f.length[first], f.last[end-1] = n, true
		}
		first = end
	}
	return f
}

// framed reports whether token j of the text is the chosen one.
func (b *page) framed(j int) bool {
	if b.e.Model.Reads() {
		return b.explainedBy(b.chosen, j)
	}
	return j == len(b.e.Prompt.Texts)+b.chosen
}

// before returns what stands before token j of the text: the beginning of a fold, or nothing.
func (f *folds) before(j int) string {
	if f == nil || f.length[j] == 0 {
		return ""
	}
	return fmt.Sprintf(`<details style="display:inline"><summary style="display:inline;`+
		`cursor:pointer;font-size:13px"> … %s tokens … </summary>`, thousands(f.length[j]))
}

// after returns what stands after token j of the text: the end of a fold, or nothing.
func (f *folds) after(j int) string {
	if f == nil || !f.last[j] {
		return ""
	}
	return "</details>"
}

// minimap writes the whole text as a strip: a column for each token, with its colour in the chosen
// row.
func (b *page) minimap(f *folds) {
	const name = "the whole text, a column for each token"
	b.printf(`<div style="width:100%%;border:1px solid #8885"><img class="hw-f" alt="%s" `+
		`title="%s" width="%d" height="12" style="width:100%%;height:12px;display:block" src="%s">`+
		`</div>`, name, name, len(f.paints), grid{f.paints}.png(b.palette, 1, 12))
}
