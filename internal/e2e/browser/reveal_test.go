package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/e2e/chromium"
)

// TestRevealed opens maps of heads in a window in which their last columns have no room:
// the largest number of the framed row, which stands before the last column, is in sight, and also
// that of a row that is chosen in the text. A click in the map does not move it.
func TestRevealed(t *testing.T) {
	b := tab(t)
	b.Resize(t, 446, 900)
	defer b.Resize(t, 1200, 900)
	e := touched()
	for k := range 30 {
		e.Prompt.Texts = append(e.Prompt.Texts, fmt.Sprintf(" w%d", k))
	}
	e.Order, e.Methods = nil, nil
	place(e)
	maps := mapped(e)
	heads := render.Heads{Explanation: e}
	shape := maps.Map.Shape
	heads.Attention = trace.Tensor{
		Name: "attention", Axes: "LHTS", Shape: []int{shape[0], 1, shape[1], shape[2]},
	}
	for _, x := range maps.Map.Data {
		heads.Attention.Data = append(heads.Attention.Data, float32(x))
	}
	const read = `(() => {
		const row = document.querySelector('.hw-r.hw-x'), box = row.closest('table').parentElement;
		const cells = [...row.cells].slice(1), number = (e) => Number(e.textContent);
		const top = cells.reduce((a, e) => number(e) > number(a) ? e : a);
		const at = top.getBoundingClientRect(), from = row.cells[0].getBoundingClientRect().right;
		const seen = at.left >= from - 1 && at.right <= box.getBoundingClientRect().right + 1;
		return row.cells[0].textContent + ' ' + number(top) + (seen ? ' seen' : ' hidden') +
			(box.scrollWidth > box.clientWidth ? '' : ', all have room') +
			' left ' + Math.round(box.scrollLeft);
	})()`
	for name, page := range map[string]string{
		"heads": document(heads),
	} {
		do := func(script string) string {
			return chromium.Evaluate[string](t, b, "(() => {"+script+"})(),"+read)
		}
		b.Show(t, page)
		if got := do(""); !strings.HasPrefix(got, "w29 100 seen left ") {
			t.Errorf("%s, at first: %s", name, got)
		}
		if got := do(click(".hw-t > *", 2)); !strings.HasPrefix(got, "s 100 seen left ") {
			t.Errorf("%s, an early token: %s", name, got)
		}
		do(click(".hw-t > *", 33))
		if got := do(click(".hw-r", 2)); !strings.HasPrefix(got, "s 100 hidden left ") {
			t.Errorf("%s, a click on an early row: %s, want the map to stay where it is", name, got)
		}
	}
}
