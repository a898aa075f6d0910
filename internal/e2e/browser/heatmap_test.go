package browser

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/compare"
	"github.com/headwater-ml/headwater/internal/e2e/chromium"
)

// shown is what a reader sees of a heatmap.
type shown struct {
	// Say, Facts, How and Readout are the sentence, the line below it, its numbers in the details,
	// and what stands below the legend.
	Say, Facts, How, Readout string
	// Framed are the framed tokens of the text, and Colored the coloured ones: position, name, and
	// step from n6 to p6.
	Framed, Colored string
	// Tab is the method, Row the framed row with its cells: their steps, z for one without, - for
	// one that is empty, and s for a sink.
	Tab, Row string
}

const readShown = `(() => {
	const root = document.querySelector('.hm'), text = (s) => root.querySelector(s)?.textContent || '';
	const tokens = [...root.querySelectorAll('.hm-text :is(span,u)')];
	const step = (e) => [...e.classList].find((c) => /^[pn][1-6]$/.test(c)) || '';
	const cell = (e) => step(e) || (e.className.match(/hm-(z|sink|gap)/) || ['', '-'])[1][0];
	return {
		Say: text('.hm-say'), Facts: text('.hm-facts'), How: text('.hm-how'), Readout: text('.hm-readout'),
		Framed: tokens.filter((e) => e.classList.contains('hm-here')).map((e) => e.textContent).join(' '),
		Colored: tokens.flatMap((e, i) => step(e) ? [i + ' ' + e.textContent + ' ' + step(e)] : []).join(),
		Tab: text('.hm-tabs [aria-selected=true]'),
		Row: [...root.querySelectorAll('.hm-matrix tr.hm-here')].map((r) => r.cells[0].textContent + ' ' +
			[...r.cells].slice(1, -1).filter((e) => e.className !== 'hm-space').map(cell).join('')).join(),
	};
})()`

// see runs a script in the tab and returns what a reader sees then.
func see(t *testing.T, b *chromium.Browser, script string) shown {
	t.Helper()
	chromium.Evaluate[bool](t, b, "(() => {"+script+"})(),"+chromium.Drawing, await)
	return chromium.Evaluate[shown](t, b, readShown)
}

// token clicks token i of the text; column and row are those of the matrix, and choose is a button
// by its name.
func token(i int) string  { return click(".hm-text :is(span,u)", i) + ";" }
func column(i int) string { return click(".hm-matrix th[data-c]", i) + ";" }
func row(i int) string    { return click(".hm-matrix tbody th", i) + ";" }
func choose(name string) string {
	return fmt.Sprintf("[...document.querySelectorAll('.hm button')].find((e) => e.textContent === %q).click();", name)
}

// over points at a cell of the matrix.
func over(row, column int) string {
	return fmt.Sprintf("document.querySelectorAll('.hm-matrix tbody tr')[%d].querySelector("+
		"'[data-c=\"%d\"]').dispatchEvent(new PointerEvent('pointerover', {bubbles: true}));", row, column)
}

// want is what a step of a table wants: parts of the sentence and of its numbers, and the other
// parts of shown as a whole.
type want struct {
	what, script                              string
	say, facts, framed, colored, row, readout string
}

func (w want) check(t *testing.T, b *chromium.Browser) shown {
	t.Helper()
	got := see(t, b, w.script)
	facts := cmp.Or(got.Facts, got.How)
	if !strings.Contains(got.Say, w.say) || !strings.Contains(facts, w.facts) ||
		got.Framed != w.framed || got.Colored != w.colored || got.Row != w.row ||
		!strings.HasPrefix(got.Readout, w.readout) || w.readout == "" && got.Readout != "" {
		t.Errorf("%s:\n got %q, %q, framed %q, coloured %q, row %q, readout %q\nwant %q, %q, framed "+
			"%q, coloured %q, row %q, readout %q", w.what, got.Say, facts, got.Framed, got.Colored,
			got.Row, got.Readout, w.say, w.facts, w.framed, w.colored, w.row, w.readout)
	}
	return got
}

// TestHeatmapChoices chooses tokens, rows, columns and methods, by clicks and by keys, in
// windows of both widths and on both systems: sentence, facts, colours of the text, framed row and
// readout say the same, and nothing on the page moves.
func TestHeatmapChoices(t *testing.T) {
	b := tab(t)
	const areSays = "“are” came from keys"
	const areFacts = "keys (1) +2.00, keys (2) +1.00 · part of the logit"
	are := want{"", "", areSays, areFacts, "are", "1 key p6,2 s p5", "are zp6p5z-", ""}
	here := want{
		"", "", "“here” came from “to”",
		"to +2.00 · against it are −1.50, keys −1.00 · ", "here",
		"2 s n5,3 to p6,4 are n6", "here zzn5p6n6", "",
	}
	s := want{
		"", "", "s stands out most for are", "prompt 2 · what it gave to each row · back to where ",
		"s",
		"4 are p5,5 here n5", "", "",
	}
	vz := want{"", "", "“are” came from keys", "keys (1) 60.0 %, keys (2) 20.0 % · share of change · layer 1",
		"are", "1 key p6", "are zp6p4z-", ""}
	gaveAre := want{"", "", "are stands out for no", "generated 1 · ", "are", "5 here n6", "", ""}
	of := func(w want, what, script string) want { w.what, w.script = what, script; return w }
	shift := "document.querySelectorAll('.hm-text :is(span,u)')[4].dispatchEvent(" +
		"new MouseEvent('click', {bubbles: true, shiftKey: true}));"
	cross := "[...document.querySelectorAll('.hm-cross')].filter((e) => e.checkVisibility()).length"
	everywhere(t, b, func(t *testing.T) {
		readable(t, b.Show(t, pageOf(t, fedDeep())))
		top := chromium.Evaluate[float64](t, b, tableTop)
		for _, w := range []want{
			of(are, "at first", ""),
			of(gaveAre, "the framed token", token(4)),
			of(are, "once more", token(4)),
			of(here, "another token", token(5)),
			of(s, "a token of the prompt", token(2)),
			of(here, "once more", token(2)),
			of(s, "a column", column(2)),
			of(here, "once more", column(2)),
			of(s, "a column again", column(2)),
			of(here, "back", "document.querySelector('.hm-facts button').click();"),
			of(are, "a row", row(0)),
			of(here, "a cell", "document.querySelectorAll('.hm-matrix tbody tr')[1].cells[2].click();"),
			of(gaveAre, "a generated token with Shift", shift),
			of(here, "Esc", press("Escape")),
			of(here, "right, at the end", press("ArrowRight")),
			of(are, "left", press("ArrowLeft")),
			of(vz, "down", press("ArrowDown")),
			of(are, "down, round", press("ArrowDown")),
			of(vz, "a tab", choose("value-zeroing")),
			of(are, "up", press("ArrowUp")),
		} {
			w.check(t, b)
			now := chromium.Evaluate[float64](t, b, tableTop)
			if lines := "446"; now != top && !strings.Contains(t.Name(), lines) {
				t.Errorf("%s: the matrix moved from %g to %g", w.what, top, now)
			}
		}
		for _, c := range []struct {
			row, column int
			readout     string
		}{
			{0, 1, "are ← keys +2.00 · prompt 1 · p 90 %"}, {1, 0, "here ← the 0.00 · prompt 0 · p 50 %"},
			{1, 4, "here ← are −1.50 · generated 1 · p 50 %"},
		} {
			of := of(are, "a cell", over(c.row, c.column))
			of.readout = c.readout
			of.check(t, b)
			if n := chromium.Evaluate[int](t, b, cross); n != 1 {
				t.Errorf("%d crosshairs, want 1", n)
			}
		}
		of(are, "beside the cells", "document.querySelector('.hm-matrix').dispatchEvent(new PointerEvent('pointerleave'));").check(t, b)
		if n := chromium.Evaluate[int](t, b, cross); n != 0 {
			t.Errorf("%d crosshairs, want none", n)
		}
		readable(t, b.Inspect(t, "document.body"))
		if title := chromium.Evaluate[int](t, b,
			"document.querySelectorAll('.hm [title]').length"); title > 0 {
			t.Errorf("%d elements have a title, which a readout is for", title)
		}
	})
}

// tableTop is where the matrix stands in the window.
const tableTop = "Math.round(document.querySelector('.hm-matrix').getBoundingClientRect().top)"

// TestHeatmapAsDrawn: what the script draws at first is what stands there without it: sentence,
// facts, the framed token, and the colours of the text.
func TestHeatmapAsDrawn(t *testing.T) {
	b := tab(t)
	all := pictures(t)
	all["long"] = render.Heatmap{Explanation: longText()}
	all["chat"] = render.Heatmap{Explanation: conversation()}
	defer func() { delete(all, "long"); delete(all, "chat") }()
	for name, picture := range all {
		for _, palette := range render.PaletteNames() {
			picture.Palette = palette
			markup := htmlOf(picture)
			if !strings.Contains(markup, "<script>") {
				continue
			}
			const colors = `[...document.querySelectorAll('.hm-text :is(span,u)')].map((e) =>
				getComputedStyle(e).backgroundColor + ' ' + getComputedStyle(e).color)`
			var drawn [2]shown
			var painted [2][]string
			still, _, _ := strings.Cut(markup, `<script type="text/plain">`)
			checkColors(t, b.Show(t, output(still+"</div>", darkPage, "white")))
			for i, of := range []string{still + "</div>", markup} {
				b.Show(t, output(of, "white", "black"))
				drawn[i], painted[i] = see(t, b, ""), chromium.Evaluate[[]string](t, b, colors)
			}
			for _, d := range drawn {
				if d.Say == "" || d.Framed == "" {
					t.Errorf("%s: nothing is said: %+v", name, d)
				}
			}
			if drawn[0].Say != drawn[1].Say || drawn[0].Facts != drawn[1].Facts ||
				drawn[0].Framed != drawn[1].Framed ||
				drawn[0].Colored != drawn[1].Colored || strings.Join(painted[0],
				",") != strings.Join(painted[1], ",") {
				t.Errorf("%s, %s:\n without script %+v\n with script %+v\n%.1000q\n%.1000q", name, palette, drawn[0], drawn[1], painted[0], painted[1])
			}
		}
	}
}

// TestHeatmapNumbers goes through all rows of all methods: the script writes the values that the
// line of a row names, digit by digit, in the table of the details.
func TestHeatmapNumbers(t *testing.T) {
	b := tab(t)
	numbers := touched() // of which one is rounded twice as a code, and one is not seen
	numbers.Methods["direct"].Rows = [][]float64{{0, 1.8246, -12.34, 11}, {0, 0, 0.204, 0.001}}
	whole := touched()
	whole.Order = whole.Order[1:]
	copy(whole.Methods["value-zeroing"].Rows, [][]float64{{0, 0, 0, 0}, {0, 1, 0, 0}})
	all := map[string]render.Heatmap{
		"numbers": {Explanation: numbers}, "whole": {Explanation: whole},
	}
	for _, name := range []string{"all methods", "lift", "contrast", "compared", "sentences", "filter"} {
		all[name] = pictures(t)[name]
	}
	for name, picture := range all {
		b.Show(t, document(picture))
		got := chromium.Evaluate[struct {
			Checked int
			Wrong   []string
		}](t, b, `(() => {
			const all = (s) => [...document.querySelectorAll(s)], text = (s) => document.querySelector(s).textContent;
			const size = (number) => Math.abs(parseFloat(number.replace(/[×+]/, '').replace(/−/g, '-')));
			const wrong = [];
			let checked = 0;
			for (let k = 0; k < all('.hm-tabs button').length; k++) {
				all('.hm-tabs button')[k].click();
				for (let i = 0; i < all('.hm-matrix tbody tr').length; i++) {
					all('.hm-matrix tbody th')[i].click();
					const unit = text('.hm-tables .hm-h span').slice(2), how = text('.hm-how');
					const line = how.slice(0, Math.max(0, how.indexOf(' · ' + unit)));
					if (!text('.hm-tables .hm-h').startsWith('What wrote')) continue;
					const side = [...document.querySelector('.hm-tables table').rows].map((r) => [...r.cells].map((cell) => cell.firstChild.textContent)).slice(0, 7);
					const where = text('.hm-tabs [aria-selected=true]') + ' ' + i + ': ';
					for (const m of line.matchAll(/ ([+−×]?\d[^ ,]*(?: %)?)(?=,| ·|$)/g)) {
						const before = line.slice(0, m.index).replace(/ \([^)]*\)$/, '').replace(/”$/, '');
						const is = ([name, number]) => number === m[1] && (before.endsWith(name) || before.split(/[ “]/).pop().includes(name));
						checked++;
						if (!side.some(is) && (side.length < 7 || size(m[1]) > size(side[6][1]))) wrong.push(where + m[1] + ' not in ' + side.join('; '));
					}
				}
			}
			return {Checked: checked, Wrong: wrong};
		})()`)
		if got.Checked == 0 || len(got.Wrong) > 0 {
			t.Errorf("%s: of %d numbers %d are others: %.2000q", name, got.Checked, len(got.Wrong),
				got.Wrong)
		}
	}
}

// TestHeatmapRightToLeft: beside an Arabic name stands its own number; the text runs from right to
// left.
func TestHeatmapRightToLeft(t *testing.T) {
	b := tab(t)
	e := fed()
	e.Prompt.Texts = []string{"عاصمة", " مصر", "ة", " هي"}
	place(e)
	e.Steps[0].Text, e.Steps[1].Text = " القاهرة", " الآن"
	b.Show(t, pageOf(t, e))
	see(t, b, "document.querySelector('.hm-details').open = true;")
	// order returns the names and the numbers of lines from left to right, as drawn.
	order := func(line string) string {
		return chromium.Evaluate[string](t, b, `(() => {
			const found = [], walk = document.createTreeWalker(document.querySelector('`+line+`'), NodeFilter.SHOW_TEXT);
			for (let node; (node = walk.nextNode());) {
				for (const m of node.textContent.matchAll(/[\u0590-\u08ff]+|[+−]\d\.\d\d/g)) {
					const range = document.createRange();
					range.setStart(node, m.index);
					range.setEnd(node, m.index + m[0].length);
					const {top, left} = range.getBoundingClientRect();
					found.push([2000 * Math.round(top / 10) + left, m[0]]);
				}
			}
			return found.sort((a, b) => a[0] - b[0]).map((e) => e[1]).join(' ');
		})()`)
	}
	for _, c := range []struct{ script, line, want string }{
		{"", ".hm-how", "مصرة +2.00 مصرة +1.00"},
		{over(0, 1), ".hm-readout", "القاهرة ة مصر +2.00"},
		{token(5), ".hm-how", "هي +2.00 القاهرة −1.50 مصرة −1.00"},
		{over(1, 2), ".hm-readout", "الآن ة مصر −1.00"},
	} {
		see(t, b, c.script)
		if got := order(c.line); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: from left to right %s has %q, want %q", c.script, c.line, got, c.want)
		}
	}
	if !chromium.Evaluate[bool](t, b, `(() => {
		const left = [...document.querySelectorAll('.hm-text :is(span,u)')].map((e) => e.getBoundingClientRect().left);
		return left.every((x, i) => !i || x < left[i - 1]);
	})()`) {
		t.Error("the text does not run from right to left")
	}
}

// TestDifferenceText: in the running text of A − B the signed steps have the colours of the matrix,
// and elsewhere what is against a token has none, but dots below it.
func TestDifferenceText(t *testing.T) {
	b := tab(t)
	e := fed()
	compared, err := render.Compare(compare.Side{Explanation: e, Method: "direct"},
		compare.Side{Explanation: e, Method: "value-zeroing"})
	must(t, err)
	const colors = `(() => {
		const root = document.querySelector('.hm'), css = (e) => getComputedStyle(e).backgroundColor;
		const of = (name) => {
			const i = Object.assign(document.createElement('i'), {className: name});
			root.append(i);
			const color = css(i);
			i.remove();
			return color;
		};
		return [...root.querySelectorAll('.hm-text :is(span,u)')].flatMap((e) => {
			const step = [...e.classList].find((c) => /^[pn][1-6]$/.test(c));
			const none = css(e) === 'rgba(0, 0, 0, 0)' && /dotted/.test(getComputedStyle(e).textDecoration);
			return step ? [step + (css(e) === of(step) ? '' : none ? ' dotted' : ' ?')] : [];
		}).join();
	})()`
	opposed := touched()
	opposed.Order = opposed.Order[:1]
	for _, c := range []struct {
		name   string
		h      render.Heatmap
		script string
		want   string
	}{
		{"A − B", compared, token(5), "p6,n6"},
		{"a method", render.Heatmap{Explanation: opposed}, token(5), "n5 dotted,p6"},
	} {
		for _, theme := range []string{"rgb(255,255,255)", darkPage} {
			b.Show(t, output(htmlOf(c.h), theme, "rgb(128,128,128)"))
			see(t, b, c.script)
			if got := chromium.Evaluate[string](t, b, colors); got != c.want {
				t.Errorf("%s on %s: the text has %q, want %q", c.name, theme, got, c.want)
			}
		}
	}
}
