package browser

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/compare"
	"github.com/headwater-ml/headwater/internal/e2e/chromium"
)

// foldsSeen is the columns of a matrix, and what of the text is folded.
const foldsSeen = `(() => {
	const names = [...document.querySelectorAll('.hm-matrix thead tr:last-child th[data-c]')].map((e) => e.textContent);
	const runs = [], number = (name) => /^ ?w\d+$/.test(name) ? Number(name.slice(1)) : NaN;
	for (const name of names) {
		const last = runs[runs.length - 1];
		if (last && number(name) === last[1] + 1) last[1]++;
		else runs.push(number(name) === number(name) ? [number(name), number(name)] : [name]);
	}
	const folds = [...document.querySelectorAll('.hm-text details')].filter((e) => !e.open);
	return runs.map((r) => r.length > 1 ? 'w' + r.join('-') : '(' + r[0] + ')').join(' ') + ' | ' +
		folds.map((e) => e.firstChild.textContent.match(/\d+/)[0]).join(' ');
})()`

// TestHeatmapFolds goes through a long text and a chat: what does not stand out is folded, in the
// text as in the columns, whatever row, method and grouping are chosen; a click on either unfolds
// both.
func TestHeatmapFolds(t *testing.T) {
	b := tab(t)
	type step struct{ what, script, want string }
	for _, c := range []struct {
		name, page string
		steps      []step
	}{
		{"long", pageOf(t, longText()), []step{
			{"at first", press("Escape"), "(97) w97-100 (s) w102-103 (93) w197-203 (304) w508-519 | 97 93 304"},
			{"another method", choose("value-zeroing"), "(97) w97-100 (s) w102-103 (93) w197-203 (304) w508-519 | 97 93 304"},
			{"another token", choose("direct") + token(521), "(97) w97-100 (s) w102-103 (93) w197-203 (304) w508-519 | 97 93 304"},
			{"whole words", choose("whole words"), "(97) w97-99 (w100s) w102-103 (93) w197-203 (304) w508-519 | 97 93 304"},
			{"all", choose("unfold all"), "w0-99 (w100s) w102-519 | "},
			{"not all", choose("unfold all"), "(97) w97-99 (w100s) w102-103 (93) w197-203 (304) w508-519 | 97 93 304"},
			{"a fold of the text", click(".hm-text summary", 0), "w0-99 (w100s) w102-103 (93) w197-203 (304) w508-519 | 93 304"},
			{"one of the matrix", click(".hm-matrix td.hm-gap", 0), "w0-99 (w100s) w102-203 (304) w508-519 | 304"},
			{"a name", click(".hm-matrix th:has(.hm-faint)", 0), "w0-99 (w100s) w102-519 | "},
		}},
		{"chat", pageOf(t, conversation()), []step{
			{"at first", press("Escape"), "(system) (user) (One) (two) (.) (Three) (s) (.) (assistant) | 4"},
			{"template", choose("template tokens"), "(<s>) (system) (↵) (system) (<e>) (↵) (<s>) (user) (↵) (One) (two) " +
				"(.) (Three) (s) (.) (<e>) (↵) (<s>) (assistant) (↵) | 4"},
			{"words", choose("template tokens") + choose("whole words"), "(system) (user) (One) (two) (.) (Threes) (.) (assistant) | 4"},
			{"sentences", choose("sentences"), "(<s>) (system↵) (You are terse.) (<e> ↵) (<s>) (user↵) (One two.) (Threes.) (<e> ↵) (<s>) (assistant↵) | 4"},
			{"turns", choose("turns"), "(<s> system↵You are terse. <e> ↵) (<s> user↵One two. Threes. <e> ↵) (<s> assistant↵) | 4"},
			{"a fold of the text", click(".hm-text summary", 0), "(<s> system↵You are terse. <e> ↵) (<s> user↵One two. Threes. <e> ↵) (<s> assistant↵) | "},
			{"no turns", choose("turns"), "(system) (You) (are) (terse) (.) (system) (user) (One) (two) (.) (Three) (s) (.) (assistant) | "},
		}},
	} {
		b.Show(t, c.page)
		for _, s := range c.steps {
			see(t, b, s.script)
			if got := chromium.Evaluate[string](t, b, foldsSeen); got != s.want {
				t.Errorf("%s, %s: %s, want %s", c.name, s.what, got, s.want)
			}
		}
	}
	b.Show(t, pageOf(t, conversation()))
	for _, c := range []struct{ what, script, colored, row, readout string }{
		{"words", choose("whole words"), "13 two p4,15 Three p6,16 s p6", "are ggzp4zp6zg", "are ← Threes 2.00 · user 15"},
		{"sentences", choose("sentences"), "12 One p4,13 two p4,14 . p4,15 Three p6,16 s p6,17 . p6", "are zzzzzzp4p6zzz", "are ← Threes. 2.00"},
		{"turns", choose("turns") + over(0, 1), "9 <s> p6,10 user p6,11 ↵ p6,12 One p6,13 two p6,14 . p6,15 Three p6,16 s p6,17 . p6,18 <e> p6,19 ↵ p6", "are zp6z", "are ← <s> user"},
		{"a fold", choose("turns") + over(0, 0), "13 two p4,15 Three p6", "are ggzp4zp6zzg", "are ← <s> 0.00 · system 0 · the strongest of 9 folded tokens, click to unfold"},
	} {
		want{c.what, c.script, "“are” came mostly from Threes and two", "Threes 2.00, two 1.00",
			"are", c.colored, c.row, c.readout}.check(t, b)
	}
}

// TestHeatmapWide opens a matrix that is wider than its window: it stands where the named source is
// seen, and says how many columns come after those that are.
func TestHeatmapWide(t *testing.T) {
	b := tab(t)
	defer b.Resize(t, 1200, 900)
	b.Resize(t, 446, 900)
	e := lengthenedBy(touched(), 70)
	r := e.Methods["direct"]
	r.Rows[0][55], r.Rows[1][1] = 3, 1 // are from w51, here from key
	b.Show(t, pageOf(t, e))
	const read = `(() => {
		const box = document.querySelector('.hm-scroll'), of = (e) => e.getBoundingClientRect(), right = of(box).right;
		const heads = [...box.querySelectorAll('th[data-c]')], hidden = heads.filter((e) => of(e).left > right - 12).length;
		const strong = of(document.querySelector('.hm-matrix tr.hm-here .p6'));
		const names = of(document.querySelector('.hm-matrix tbody th')), more = document.querySelector('.hm-more');
		return [strong.left >= names.right && strong.right <= right, more.hidden ? 0 : Number(more.textContent.match(/^(\d+) more →$/)[1]),
			hidden, names.left === of(box).left, document.documentElement.scrollWidth > innerWidth].join();
	})()`
	at := func(script string) (seen bool, more, hidden int) {
		var steady, wide bool
		see(t, b, script)
		got := strings.ReplaceAll(chromium.Evaluate[string](t, b, read), ",", " ")
		if _, err := fmt.Sscan(got, &seen, &more, &hidden, &steady, &wide); err != nil ||
			!steady || wide || more != hidden {
			t.Errorf("%.40s: source seen, names more, columns hidden, names of rows in place, page wide: %s, %v", script, got, err)
		}
		return seen, more, hidden
	}
	if seen, more, _ := at(""); !seen || more == 0 {
		t.Errorf("at first the source is seen: %t, with %d more columns", seen, more)
	}
	// Names of columns of 12 px have room for the letters, descenders too.
	if cut := chromium.Evaluate[int](t, b, `(() => {
		const names = [...document.querySelectorAll('.hm-matrix th[data-c] div')];
		const pen = document.createElement('canvas').getContext('2d');
		pen.font = getComputedStyle(names[0]).font;
		const {fontBoundingBoxAscent: above, fontBoundingBoxDescent: below} = pen.measureText('g');
		return names.filter((e) => e.offsetWidth < above + below ||
			getComputedStyle(e.parentElement).overflow !== 'visible').length;
	})()`); cut > 0 {
		t.Errorf("%d names of narrow columns are cut", cut)
	}
	_, before, _ := at("")
	at("document.querySelector('.hm-more button').click()")
	chromium.Evaluate[bool](t, b, `(async () => {
		const box = document.querySelector('.hm-scroll');
		for (let was = -1; was !== box.scrollLeft;) {
			was = box.scrollLeft;
			await new Promise((done) => setTimeout(done, 150));
		}
		return true;
	})()`, await)
	if _, more, _ := at(""); more >= before {
		t.Errorf("after a click on what is more there are %d columns more, before %d", more, before)
	}
	at("document.querySelector('.hm-scroll').scrollLeft = 1e6")
	b.Resize(t, 1600, 900)
	if seen, more, _ := at(""); !seen || more > 0 {
		t.Errorf("in a wide window the source is seen: %t, with %d more columns", seen, more)
	}
}

// TestHeatmapRows has 260 rows, of which the matrix has 200 around the chosen one.
func TestHeatmapRows(t *testing.T) {
	b := tab(t)
	e := touched()
	e.Order = e.Order[:1]
	delete(e.Methods, "value-zeroing")
	r := e.Methods["direct"]
	const n = 260
	e.Steps, r.Rows, r.Shape[0] = nil, nil, n
	for i := range n {
		e.Steps = append(e.Steps, attribution.GeneratedToken{
			Text: fmt.Sprintf(" g%d", i), Probability: 0.5,
		})
		row := make([]float64, 4+i)
		if row[0] = 1; i > 0 {
			row[4+i-1] = 2
		}
		r.Rows = append(r.Rows, row)
		r.Shown = append(r.Shown, 1)
	}
	b.Show(t, pageOf(t, e))
	for _, c := range []struct {
		token       int
		first, last string
	}{{259, "g60", "g259"}, {150, "g50", "g249"}, {0, "g0", "g199"}} {
		name, before := fmt.Sprint("g", c.token), fmt.Sprintf("%d g%d p6", 3+c.token, c.token-1)
		colored := "0 the p4," + before
		if c.token == 0 {
			colored = "0 the p4"
		}
		got := see(t, b, token(4+c.token))
		rows := chromium.Evaluate[[]string](t, b, "[...document.querySelectorAll('.hm-matrix tbody th')].map((e) => e.textContent)")
		if got.Framed != name || got.Colored != colored || !strings.HasPrefix(got.Row, name+" ") ||
			len(rows) != 200 || rows[0] != c.first || rows[199] != c.last {
			t.Errorf("%s: framed %q, coloured %q, row %.20q of %d, want %q; rows %s to %s, want %s to %s", name, got.Framed,
				got.Colored, got.Row, len(rows), colored, rows[0], rows[len(rows)-1], c.first,
				c.last)
		}
	}
}

// TestHeatmapMethods opens three methods and more: each has a line, on a scale of its own, which
// says why it has none; a click chooses the method.
func TestHeatmapMethods(t *testing.T) {
	b := tab(t)
	b.Show(t, document(pictures(t)["all methods"]))
	order := pictures(t)["all methods"].Explanation.Order
	const strip = `[...document.querySelectorAll('.hm-strip tbody tr')].map((r) => r.cells[0].textContent + ' ' +
		(r.querySelector('.hm-note') ? 'note' : r.querySelector('.p6,.n6') ? 'full' : 'empty'))`
	for i, name := range order {
		got := see(t, b, click(".hm-strip tbody th", i))
		lines := chromium.Evaluate[[]string](t, b, strip)
		if got.Tab != name || len(lines) != len(order) || !strings.HasPrefix(lines[i], name+" ") {
			t.Errorf("a click on the line of %s opens %s; the lines are %q", name, got.Tab, lines)
		}
		full := strings.Count(strings.Join(lines, ","), " full")
		if full < len(order)/2 {
			t.Errorf("of %q only %d lines reach the end of their scale", lines, full)
		}
	}
	title := chromium.Evaluate[string](t, b,
		"document.querySelector('.hm-strip-title').textContent")
	if title != "are by every method · each line on its own scale" {
		t.Errorf("the title says %q", title)
	}
}

// TestHeatmapHostile clicks and points at everything in a picture of hostile texts, with a script
// and in the frame of a sandbox: no text acts.
func TestHeatmapHostile(t *testing.T) {
	b := tab(t)
	page := document(pictures(t)["hostile"])
	b.Show(t, page)
	clicks := chromium.Evaluate[int](t, b, `(() => {
		const parts = '.hm :is(span,u,button,td,th,summary,i)', n = document.querySelectorAll(parts).length;
		for (let i = 0; i < n; i++) {
			const e = document.querySelectorAll(parts)[i];
			for (const kind of ['pointerover', 'click']) e?.dispatchEvent(new MouseEvent(kind, {bubbles: true}));
		}
		return n;
	})()`)
	d := b.Inspect(t, "document.body")
	checkElements(t, d)
	if clicks < 200 || !strings.Contains(d.Text, "<script>") {
		t.Errorf("%d places to click, text %.300q", clicks, d.Text)
	}
	b.Show(t, `<!DOCTYPE html><iframe sandbox="allow-scripts allow-same-origin" width="900" height="700" srcdoc="`+
		html.EscapeString(pageOf(t, touched()))+`"></iframe>`)
	framed := chromium.Evaluate[string](t, b, `(async () => {
		const inside = document.querySelector('iframe').contentDocument;
		for (let i = 0; i < 600 && !inside.querySelector('.hm-on'); i++) await new Promise((done) => setTimeout(done, 10));
		inside.querySelectorAll('.hm-text u')[1].click();
		return inside.querySelector('.hm-say').textContent;
	})()`, await)
	if framed != "“here” came mostly from “to”" {
		t.Errorf("in a sandbox a click says %q", framed)
	}
}

// TestHeatmapKinds opens pictures that are about something else: the sides of a comparison, an
// encoder's positions, targets, and spans of a prompt. Clicks tell rows and sources of each.
func TestHeatmapKinds(t *testing.T) {
	b := tab(t)
	e := fed()
	compared, err := render.Compare(compare.Side{Explanation: e, Method: "direct"},
		compare.Side{Explanation: e, Method: "value-zeroing"})
	must(t, err)
	encoder := encoded(t, "electra", "the keys to the cabinet", attribution.Options{Positions: []int{3, 6}})
	atS := func(what, script string) want {
		return want{
			what, script, "s at 3 → [64] came mostly from keys, “to” and “the” (1)",
			"keys 21.4 %, to 14.8 %, the (1) 14.1 %", "s",
			"0 [CLS] p3,1 the p5,2 key p4,4 to p5,5 the p4,6 cabinet p4,7 [SEP] p4", "s at 3 → [64] p3p5p4p6p5p4p4p4",
			"s at 3 → [64] ← keys 21.4 %",
		}
	}
	same := *encoder
	same.Steps = slices.Clone(same.Steps)
	same.Steps[1].Position = same.Steps[0].Position
	target := touched()
	target.Order = target.Order[:1]
	delete(target.Methods, "value-zeroing")
	for i := range target.Steps {
		target.Steps[i].IDs = []int{1, 2}
	}
	direct := target.Methods["direct"]
	direct.Rows[0], direct.Rows[1] = append(direct.Rows[0], 9), append(direct.Rows[1], 1, 9)
	target.Methods["direct"].Target = "sentence"
	for _, c := range []struct {
		name  string
		h     render.Heatmap
		steps []want
	}{
		{"compared", compared, []want{
			{
				"at first", "", "“are” has more from keys with direct than with value-zeroing",
				"keys (2) +8.3 % · more in B keys (1) −8.3 % · ", "are",
				"1 key n3,2 s p3", "are sn3p3z-", "are ← keys +8.3 %",
			},
			{
				"another token", token(5),
				"“here” has more from “to” with value-zeroing than with direct",
				"more in B to −22.2 % · more in A keys +22.2 %", "here",
				"2 s p6,3 to n6", "here szp6n6z", "here ← to −22.2 %",
			},
			{
				"the first side", token(4) + click(".hm-tabs button", 0),
				"“are” came mostly from keys", "keys (1) +66.7 %, keys (2) +33.3 %",
				"are", "1 key p6,2 s p4", "are zp6p4z-", "are ← keys +66.7 %",
			},
			{"a source", token(2), "s stands out most for are", "prompt 2", "s", "4 are p4,5 here n3", "", "are ← keys +33.3 %"},
		}},
		{"encoder", render.Heatmap{Explanation: encoder}, []want{
			atS("at first", ""), {
				"another position", token(6), "cabinet at 6 → [64] came mostly from cabinet, " +
					"“to” and “the” (1)", "cabinet 22.1 %, to 14.8 %",
				"cabinet", "0 [CLS] p3,1 the p4,2 key p4,3 s p3,4 to p5,5 the p4,7 [SEP] p3",
				"cabinet at 6 → [64] p3p4p4p3p5p4p6p3", "cabinet at 6 → [64] ← cabinet 22.1 %",
			},
			{
				"another token", token(1),
				"the stands out most for s at 3 → [64] and cabinet at 6 " +
					"→ [64]", "text 1", "the",
				"3 s p5,6 cabinet p4", "", "cabinet at 6 → [64] ← the 13.5 %",
			},
			atS("left", press("Escape", "ArrowLeft")),
		}},
		{"two predictions of a token", render.Heatmap{Explanation: &same}, []want{
			{
				"the second", row(1), "s at 3 → [64] came mostly from cabinet", "cabinet 22.1 %",
				"s",
				"0 [CLS] p3,1 the p4,2 key p4,4 to p5,5 the p4,6 cabinet p6,7 [SEP] p3", "s at 3 → [64] p3p4p4p3p5p4p6p3",
				"s at 3 → [64] ← cabinet 22.1 %",
			},
			atS("the first", row(0)),
		}},
		{"targets", render.Heatmap{Explanation: target}, []want{
			{"at first", "", "“are” came mostly from keys", "keys (1) +2.00, keys (2) +1.00", "are", "1 key p6,2 s p4", "are zp6p4zs-", "are ← keys +2.00"},
			{
				"its own", over(0, 4), "“are” came mostly from keys",
				"keys (1) +2.00, keys (2) +1.00", "are",
				"1 key p6,2 s p4", "are zp6p4zs-",
				"are ← are +9.00 · generated 1 · not in the scale",
			},
			{
				"another target", row(1), "“here” came mostly from “to” and “are”",
				"to +2.00, are +1.00 · against it keys −1.00", "here",
				"2 s n4,3 to p6,4 are p4", "here zzn4p6p4s", "here ← to +2.00",
			},
			{
				"a source", token(4) + token(4),
				"are stands out most for here", "generated 1", "are",
				"5 here p4", "",
				"are ← are +9.00 · generated 1 · not in the scale",
			},
		}},
		{"spans", render.Heatmap{Explanation: divided(t, touched(), "word")}, []want{
			{"at first", "", "“are” came mostly from keys", "keys +3.00", "are", "1 keys p6", "are zp6z", "are ← keys +3.00"},
			{"a source", token(1), "keys stands out most for are", "prompt 1", "keys", "3 are p6,4 here n3", "", "are ← keys +3.00"},
		}},
	} {
		b.Show(t, document(c.h))
		for _, w := range c.steps {
			w.what = c.name + ", " + w.what
			w.check(t, b)
		}
	}
}

// TestNumbersFit opens matrices of up to 24 columns with numbers of both signs, narrow, wide and on
// paper: no number is cut off, and those of one table are all shown or all left out.
func TestNumbersFit(t *testing.T) {
	b := tab(t)
	defer b.Resize(t, 1200, 900)
	defer emulate(t, b, "")
	shownOnce, hiddenOnce := false, false
	for _, columns := range []int{6, 14, 24} {
		e := lengthenedBy(touched(), columns-6)
		fill(e.Methods["direct"], func(i int) float64 { return float64(i%7)/20 - 0.15 })
		b.Show(t, pageOf(t, e))
		for _, width := range []int{446, 700, 1200, 1400} {
			b.Resize(t, int64(width), 900)
			for _, media := range []string{"", "print"} {
				emulate(t, b, media)
				got := chromium.Evaluate[[3]int](t, b, `(() => {
					const all = [...document.querySelectorAll('.hm-matrix td b span')];
					const wide = (e) => e.checkVisibility() ? e.getBoundingClientRect().width : 0;
					const cut = all.filter((e) => wide(e) > e.closest('td').getBoundingClientRect().width);
					return [all.length, all.filter((e) => wide(e) > 5).length, cut.length];
				})()`)
				if got[0] == 0 || got[2] > 0 || got[1] > 0 && got[1] < got[0] {
					t.Errorf("%d columns, %d pixels %s: of %d numbers %d are shown and %d cut off",
						columns, width, media, got[0], got[1], got[2])
				}
				shownOnce, hiddenOnce = shownOnce || got[1] > 0, hiddenOnce || got[1] == 0
			}
		}
	}
	if !shownOnce || !hiddenOnce {
		t.Errorf("numbers were shown: %t, and left out: %t", shownOnce, hiddenOnce)
	}
}
