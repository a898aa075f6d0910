package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/e2e/chromium"
)

// attended is the text of touched with the attention of two layers of two heads: head 1 of layer 1
// looks from every token at the one before it, the others at the first token.
func attended() render.Heads {
	const T = 6
	h := render.Heads{Explanation: touched(), Attention: trace.Tensor{
		Name: "attention", Axes: "LHTS", Shape: []int{2, 2, T, T}, Data: make([]float32, 4*T*T),
	}}
	for head := range 4 {
		for i := range T {
			j := 0
			if head == 3 {
				j = max(i-1, 0)
			}
			h.Attention.Data[(head*T+i)*T+j] = 1
		}
	}
	return h
}

// attendedByLayer is attended, where layer 0 wrote the first generated token and layer 1 the other.
func attendedByLayer() render.Heads {
	h := attended()
	h.Explanation.Model.Layers = 2
	r := h.Explanation.Methods["value-zeroing"]
	r.Shown = []int{0, 1}
	r.LayerChosen = true
	return h
}

// seenHeads is what a reader sees of a picture of heads.
type seenHeads struct {
	// Say and Facts are the sentence and the line below it, Framed and Colored the tokens of the
	// text, Ring the one that the map is about.
	Say, Facts, Framed, Colored, Ring string
	// Go is what the buttons say, Rows the framed row of each matrix with its colours, and Readout
	// what stands over the first one. Wrote are the names of the lines of the map, and At its
	// framed head.
	Go, Rows, Readout, Wrote, At string
	// List are the heads that are listed, the pressed one in brackets, and Numbers what is beside
	// them.
	List, Numbers string
}

const readHeads = `(() => {
	const root = document.querySelector('.hm'), text = (s) => root.querySelector(s)?.textContent || '';
	const all = (s) => [...root.querySelectorAll(s)];
	const step = (e) => [...e.classList].find((c) => /^p[1-6]$/.test(c)) || '';
	const cell = (e) => step(e) || (e.className.match(/hm-(z|sink|gap)/) || ['', '-'])[1][0];
	const tokens = all('.hm-text :is(span,u)');
	const names = (c) => tokens.filter((e) => e.classList.contains(c)).map((e) => e.textContent).join(' ');
	return {
		Say: text('.hm-say'), Facts: text('.hm-facts'), Framed: names('hm-here'), Ring: names('hm-ring'),
		Colored: tokens.flatMap((e, i) => step(e) ? [i + ' ' + e.textContent + ' ' + step(e)] : []).join(),
		Go: all('.hm-go b').map((e) => e.textContent).join(' '),
		Rows: all('.hm-matrix tr.hm-here').map((r) => r.cells[0].textContent + ' ' +
			[...r.cells].slice(1).map(cell).join('')).join(),
		Readout: text('.hm-readout'), At: all('.hm-map .hm-here').map((e) => e.dataset.l + ',' + e.dataset.h).join(),
		Wrote: all('.hm-map tbody th').map((e) => e.textContent).join(' '),
		List: all('.hm-alternatives button').map((e) => e.ariaPressed === 'true' ?
			'[' + e.textContent + ']' : e.textContent).join(', '),
		Numbers: all('.hm-alternatives span:nth-child(3n)').map((e) => e.textContent).join(', '),
	};
})()`

// seeHeads runs a script in the tab and returns what a reader sees then.
func seeHeads(t *testing.T, b *chromium.Browser, script string) seenHeads {
	t.Helper()
	chromium.Evaluate[bool](t, b, "(() => {"+script+"})(),"+chromium.Drawing, await)
	return chromium.Evaluate[seenHeads](t, b, readHeads)
}

// headCell clicks a cell of a matrix, 0 or 1, and ofMap a head of the map.
func headCell(matrix, row, column int) string {
	return fmt.Sprintf("document.querySelectorAll('.hm-matrix')[%d].tBodies[0].rows[%d].cells[%d].click();",
		matrix, row, column+1)
}
func ofMap(layer, head int) string {
	return fmt.Sprintf("document.querySelector('.hm-map [data-l=\"%d\"][data-h=\"%d\"]').click();", layer, head)
}

// TestHeadsChoices opens heads and chooses tokens, by clicks and by keys, in windows of both widths
// and on both systems.
func TestHeadsChoices(t *testing.T) {
	b := tab(t)
	shift := "document.querySelectorAll('.hm-text :is(span,u)')[2].dispatchEvent(" +
		"new MouseEvent('click', {bubbles: true, shiftKey: true}));"
	button := func(label string) string {
		return fmt.Sprintf("document.querySelector('.hm-go [aria-label=%q]').click();", label)
	}
	const are, here = "Before are, head 1 of layer 1 looked at keys 100 %",
		"Before here, head 1 of layer 1 looked at to 100 %"
	everywhere(t, b, func(t *testing.T) {
		readable(t, withoutThumbnails(b.Show(t, document(attended()))))
		for _, c := range []struct{ what, script, say, framed, colored, ring, open string }{
			{"at first", "", are, "are", "2 s p6", "", "1,1"},
			{"another generated token", token(5), here, "here", "3 to p6", "", "1,1"},
			{"and back", token(4), are, "are", "2 s p6", "", "1,1"},
			{"the framed token", token(4), "are is looked at by head 1 of layer 1 from here 100 %", "are", "5 here p6", "", "1,1"},
			{"once more", token(4), are, "are", "2 s p6", "", "1,1"},
			{"a token of the prompt", token(1), are, "are", "2 s p6", "key", "1,1"},
			{"once more", token(1), "keys is looked at by head 1 of layer 1 from keys 100 %", "key", "2 s p6", "", "1,1"},
			{"a third time", token(1), are, "are", "2 s p6", "", "1,1"},
			{"with Shift", shift, "keys is looked at by head 1 of layer 1 from to 100 %", "s", "3 to p6", "", "1,1"},
			{"back by the button", "document.querySelector('.hm-facts button').click();", are, "are", "2 s p6", "s", "1,1"},
			{"a head of the map", ofMap(0, 0), "Before are, head 0 of layer 0 looked mostly at the sink the 100 %", "are", "", "s", "0,0"},
			{"the layer above", button("the layer above"), "Before are, head 0 of layer 1 looked mostly at the sink the 100 %", "are", "", "s", "1,0"},
			{"none above it", button("the layer above"), "Before are, head 0 of layer 1", "are", "", "s", "1,0"},
			{"the head after", button("the head after"), are, "are", "2 s p6", "s", "1,1"},
			{"a row of heads", headCell(0, 0, 3), "Before are, head 0 of layer 1", "are", "", "to", "1,0"},
			{"Esc", press("Escape"), are, "are", "2 s p6", "", "1,1"},
			{"a cell of the head", headCell(1, 2, 0), "From keys, head 1 of layer 1 looked at keys 100 %", "s", "1 key p6", "the", "1,1"},
			{"right", press("ArrowRight"), are, "are", "2 s p6", "", "1,1"},
			{"right again", press("ArrowRight"), here, "here", "3 to p6", "", "1,1"},
			{"a layer down", press("ArrowDown"), "Before here, head 1 of layer 0 looked mostly", "here", "", "", "0,1"},
			{"Esc again", press("Escape"), here, "here", "3 to p6", "", "1,1"},
			{"Enter", press("Enter"), "are is looked at", "are", "5 here p6", "", "1,1"},
			{"Enter again", press("Enter"), here, "here", "3 to p6", "", "1,1"},
			{"Home", press("Home"), "From the, head 1 of layer 1 looked mostly at the sink", "the", "", "", "1,1"},
			{"End", press("End"), "From here, head 1 of layer 1 looked at are", "here", "4 are p6", "", "1,1"},
		} {
			got := seeHeads(t, b, c.script)
			layer, head, _ := strings.Cut(c.open, ",")
			if !strings.Contains(got.Say, c.say) || got.Framed != c.framed ||
				got.Colored != c.colored || got.Ring != c.ring || got.At != c.open ||
				got.Go != "layer "+layer+" head "+head {
				t.Errorf("%s:\n got %+v\nwant %+v", c.what, got, c)
			}
		}
		checkColors(t, b.Inspect(t, "document.body"))
	})
}

// TestHeadsLayers chooses tokens of a picture of heads: each opens the best head of the layer that
// wrote what is predicted there, until the reader chooses a head, which then stays. The map marks
// that layer, and the list has the numbers of the sentence.
func TestHeadsLayers(t *testing.T) {
	b := tab(t)
	h := attendedByLayer()
	row := h.Attention.Data[3*6:] // of layer 0, head 0, from “to”
	row[0], row[1] = 0.0, 0.6042
	b.Show(t, document(h))
	const own, other = "[0.0 key], 1.1 s", "[1.1 to]"
	listed := click(".hm-alternatives button", 1) + ";"
	for _, c := range []struct{ what, script, at, wrote, list string }{
		{"at first", "", "0,0", "1 wrote 0", own},
		{"the next token", press("ArrowRight"), "1,1", "wrote 1 0", other},
		{"one where nothing is predicted", press("Home"), "0,0", "1 0", ""},
		{"the first one again", token(4), "0,0", "1 wrote 0", own},
		{"what looks at it", press("Enter"), "0,0", "1 0", own},
		{"another head", press("Enter") + listed, "1,1", "1 wrote 0", "0.0 key, [1.1 s]"},
		{"the next token with it", press("ArrowRight"), "1,1", "wrote 1 0", other},
		{"back with it", press("ArrowLeft"), "1,1", "1 wrote 0", "0.0 key, [1.1 s]"},
		{"Esc", press("Escape"), "0,0", "1 wrote 0", own},
	} {
		got := seeHeads(t, b, c.script)
		if got.At != c.at || got.Wrote != c.wrote || got.List != c.list {
			t.Errorf("%s: head %s, lines %q, list %q; want %+v", c.what, got.At, got.Wrote,
				got.List, c)
		}
		if c.what == "at first" && got.Numbers != "60 % +45, 100 % +17" {
			t.Errorf("beside the heads stands %q", got.Numbers)
		}
		if c.what == "at first" && (!strings.Contains(got.Say, "keys 60 %") || !strings.Contains(
			got.Facts, "“to” (3), where “are” is predicted, 90.0 % · attention of layer 0 wrote more of its logit than that of any other")) {
			t.Errorf("it says %q, %q", got.Say, got.Facts)
		}
	}
	focused := "document.querySelectorAll('.hm-alternatives button')[1].focus();" + listed
	seeHeads(t, b, focused)
	got := chromium.Evaluate[string](t, b, "document.activeElement.textContent")
	if got != "1.1 s" {
		t.Errorf("after a click on a head of the list %q is in focus", got)
	}
}

// TestHeadsReadout points at cells: the readout names what is there, and a click chooses it.
func TestHeadsReadout(t *testing.T) {
	b := tab(t)
	b.Show(t, document(attended()))
	const first = "layer 1, head 1: to → s 100 % · prompt 2"
	const overEmpty = "document.querySelectorAll('.hm-matrix tbody tr')[1].querySelector('td[class=\"\"]')." +
		"dispatchEvent(new PointerEvent('pointerover', {bubbles: true}));"
	for _, c := range []struct{ what, script, want string }{
		{"at first", "", first},
		{"a sink", over(0, 0), "layer 1, head 0: to → the 100 % · prompt 0 · a sink, not in the scale"},
		{"an empty cell", overEmpty, first}, // it comes later, and nothing is there
		{"nothing", "document.querySelector('.hm-matrix').dispatchEvent(new PointerEvent('pointerleave'));", first},
		{"a cell that is clicked", headCell(0, 0, 2), "layer 1, head 0: to → s 0.0 % · prompt 2"},
		{"another token", press("ArrowRight"), "layer 1, head 0: are → the 100 % · prompt 0"},
	} {
		if got := seeHeads(t, b, c.script); !strings.HasPrefix(got.Readout, c.want) {
			t.Errorf("%s: it says %q, want %q", c.what, got.Readout, c.want)
		}
	}
	const titles = "document.querySelectorAll('.hm [title]').length"
	if n := chromium.Evaluate[int](t, b, titles); n > 0 {
		t.Errorf("%d elements have a title", n)
	}
}

// TestHeadsRevealed opens a long text in a narrow window: what the open head looks at is in sight,
// the framed row of it is, too, and a click does not move the matrix.
func TestHeadsRevealed(t *testing.T) {
	b := tab(t)
	b.Resize(t, 446, 900)
	defer b.Resize(t, 1200, 900)
	e := touched()
	for k := range 60 {
		e.Prompt.Texts = append(e.Prompt.Texts, fmt.Sprintf(" w%d", k))
	}
	e.Order, e.Methods = nil, nil
	place(e)
	T := len(e.Prompt.Texts) + len(e.Steps)
	h := render.Heads{Explanation: e, Attention: trace.Tensor{
		Shape: []int{1, 1, T, T}, Data: make([]float32, T*T),
	}}
	for i := range T {
		h.Attention.Data[i*T+max(i-1, 0)] = 1
	}
	b.Show(t, document(h))
	const read = `(() => {
		const table = document.querySelectorAll('.hm-matrix')[1], row = table.querySelector('.hm-here');
		const box = table.closest('.hm-scroll'), r = box.getBoundingClientRect();
		const cell = row.querySelector('.p6').getBoundingClientRect();
		const left = row.cells[0].getBoundingClientRect().right;
		return row.cells[0].textContent + (cell.left >= left - 1 && cell.right <= r.right + 1 &&
			cell.top >= r.top && cell.bottom <= r.bottom + 1 ? ' seen' : ' hidden') +
			(box.scrollWidth > box.clientWidth && box.scrollHeight > box.clientHeight ? '' : ', all have room');
	})()`
	for _, c := range []struct{ what, script, want string }{
		{"at first", "", "w59 seen"},
		{"an early row", "document.querySelectorAll('.hm-matrix')[1].tBodies[0].rows[2].cells[0].click();", "s hidden"},
		{"the first prediction", token(64), "w59 seen"},
	} {
		seeHeads(t, b, c.script)
		if got := chromium.Evaluate[string](t, b, read); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
	// The names of rows go under those of columns, which stay.
	over := chromium.Evaluate[string](t, b, `(() => {
		const table = document.querySelectorAll('.hm-matrix')[1], box = table.closest('.hm-scroll');
		box.scrollIntoView();
		box.scrollTop = 33;
		const head = table.tHead.rows[0].cells[0].getBoundingClientRect();
		return [...Array(Math.floor(head.height / 4)).keys()].map((i) => document.elementFromPoint(
			head.left + 80, head.top + 4 * i + 2)).filter((e) => !e.closest('thead')).map(
			(e) => e.textContent).join();
	})()`)
	if over != "" {
		t.Errorf("names of rows run over the names of columns: %s", over)
	}
}

// TestLongHeads: a page of heads of 192 tokens can be clicked, also on tokens of the prompt, and
// columns are folded where the text is.
func TestLongHeads(t *testing.T) {
	b := tab(t)
	const T, layers, heads = 192, 12, 9
	h := render.Heads{Explanation: longExplanation(T-2, layers), Attention: trace.Tensor{
		Name: "attention", Axes: "LHTS", Shape: []int{layers, heads, T, T},
		Data: make([]float32, layers*heads*T*T),
	}}
	for row := range layers * heads * T {
		i := row % T
		for j := range i + 1 {
			h.Attention.Data[row*T+j] = float32(1+(row+j)*7919%97) / float32(49*(i+1))
		}
		h.Attention.Data[row*T+max(i-1, 0)] += 0.5
	}
	page := document(h)
	b.Show(t, page)
	const folds = `[...document.querySelectorAll('.hm-matrix')].map((e) =>
		[...e.querySelectorAll('th[data-c]')].map((th) => th.textContent).join(' '))`
	columns := chromium.Evaluate[[]string](t, b, folds)
	if len(columns) != 2 || columns[0] != columns[1] ||
		!strings.Contains(columns[0], "w189 g0 g1") ||
		!strings.HasPrefix(columns[0], "40 words w40 ") {
		t.Errorf("the columns are %q, want a fold, and then what is looked at", columns)
	}
	got := seeHeads(t, b, "document.querySelector('.hm-text summary').click();"+token(30))
	columns = chromium.Evaluate[[]string](t, b, folds)
	if got.Ring != "w30" || !strings.Contains(columns[0], "w29 w30 w31") {
		t.Errorf("after unfolding, the map is about %q", got.Ring)
	}
	if len(page) > 5_100_000 {
		t.Errorf("%d bytes", len(page))
	}
}

// TestHeadsUntrusted opens a picture of heads as a notebook that is not trusted keeps it: it can be
// read on both themes, and has its sentence, its matrices and its map.
func TestHeadsUntrusted(t *testing.T) {
	b := tab(t)
	got := sanitiseMarkup(t, b, htmlOf(attended()))
	for _, theme := range [][2]string{{darkPage, "rgb(255,255,255)"}, {"white", "black"}} {
		d := b.Show(t, output(got.Sanitised, theme[0], theme[1]))
		checkColors(t, d)
		checkElements(t, d)
		if tables := d.Elements["table"]; tables != 3 || !strings.Contains(d.Text,
			"head 1 of layer 1 looked at keys 100 %") {
			t.Errorf("without the script there are %d tables, and it says %.300q", tables, d.Text)
		}
	}
}

// TestHeadsThemes reads the colours of a picture of heads in both palettes and on both systems:
// text, cells, map and small pictures follow.
func TestHeadsThemes(t *testing.T) {
	b := tab(t)
	b.Show(t, document(attended()))
	defer emulate(t, b, "")
	colors := func(script string) string {
		seeHeads(t, b, script)
		return chromium.Evaluate[string](t, b, `[...new Set([...document.querySelectorAll(
			'.hm-text .p6, .hm-matrix .p6, .hm-map .p6, .hm-thumbs path.p6')].map((e) => {
			const of = getComputedStyle(e);
			return e.localName === 'path' ? of.fill : of.backgroundColor;
		}))].join(' ')`)
	}
	emulate(t, b, "", scheme, "light")
	if got := colors(""); got != "rgb(10, 38, 88)" {
		t.Errorf("on light the deepest colour is %s", got)
	}
	emulate(t, b, "", scheme, "dark")
	if got := colors(""); got != "rgb(230, 243, 255)" {
		t.Errorf("on dark the deepest colour is %s", got)
	}
	if got := colors(choose("green and purple")); got != "rgb(226, 247, 232)" {
		t.Errorf("in another palette the deepest colour is %s", got)
	}
	emulate(t, b, "print", scheme, "light")
	if n := chromium.Evaluate[int](t, b, "[...document.querySelectorAll('.hm-map .hm-here, "+
		".hm-matrix tr.hm-here')].filter((e) => e.checkVisibility()).length"); n != 3 {
		t.Errorf("%d heads and rows are marked on paper, want 3", n)
	}
}
