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
	const names = [...document.querySelectorAll('.hm-matrix thead tr:last-child th[data-c]')].map((e) => e.textContent.replace(' tokens', ''));
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
			{"at first", press("Escape"), "(40 words) w40-100 (s) w102-159 (320 words) w480-519 | 40 320"},
			{"another method", choose("value-zeroing"), "(40 words) w40-100 (s) w102-159 (320 words) w480-519 | 40 320"},
			{"another token", choose("direct") + token(521), "(40 words) w40-100 (s) w102-519 | 40"},
			{"all", choose("unfold all"), "w0-100 (s) w102-519 | "},
			{"not all", choose("unfold all"), "(40 words) w40-100 (s) w102-519 | 40"},
			{"a row before", press("ArrowLeft"), "(40 words) w40-100 (s) w102-159 (320 words) w480-519 | 40 320"},
			{"a fold of the text", click(".hm-text summary", 0), "w0-100 (s) w102-159 (320 words) w480-519 | 320"},
			{"one of the matrix", click(".hm-matrix td.hm-gap", 0), "w0-100 (s) w102-519 | "},
		}},
		{"chat", pageOf(t, conversation()), []step{
			{"at first", press("Escape"), "(system) (You) (are) (terse) (.) (user) (One) (two) (.) (Three) (s) (.) (assistant) | "},
			{"template", choose("template tokens"), "(<s>) (system) (↵) (You) (are) (terse) (.) (<e>) (↵) (<s>) (user) (↵) " +
				"(One) (two) (.) (Three) (s) (.) (<e>) (↵) (<s>) (assistant) (↵) | "},
			{"no template", choose("template tokens"), "(system) (You) (are) (terse) (.) (user) (One) (two) (.) (Three) (s) (.) (assistant) | "},
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
	want{
		"a fold", over(0, 0), "“are” came from Threes", "Threes 2.00, two 1.00",
		"are", "5 two p5,7 Three p6", "are gzzzzgzp5zp6zzg",
		"are ← <s> 0.00 · system 0 · the strongest of 3 folded tokens, click to unfold",
	}.check(t, b)
}

// TestHeatmapWide opens a matrix that is wider than its window: a list takes its place where
// columns would be narrower than 12 px, and nothing is wider than the page. Names do not touch,
// and numbers stand in the middle, in a notebook too.
func TestHeatmapWide(t *testing.T) {
	b := tab(t)
	defer b.Resize(t, 1200, 900)
	e := lengthenedBy(touched(), 70)
	r := e.Methods["direct"]
	r.Rows[0][55], r.Rows[1][1] = 3, 1 // are from w51, here from key
	notebook := "<style>td{text-align:right;padding:.5em}</style>"
	b.Show(t, pageOf(t, e)+notebook)
	const read = `(() => {
		const seen = (s) => document.querySelector(s).checkVisibility();
		const of = (s) => [...document.querySelectorAll(s)].map((e) => e.getBoundingClientRect());
		const widths = of('.hm-matrix td[data-c]').map(({width}) => width);
		const names = of('.hm-matrix thead th[data-c] div'), last = of('.hm-matrix td.hm-chance')[0];
		return [seen('.hm-matrix'), seen('.hm-list'), document.documentElement.scrollWidth > innerWidth,
			!seen('.hm-matrix') || Math.min(...widths) >= 11.9 && Math.max(...widths) - Math.min(...widths) < 1.1 &&
			last.right <= innerWidth && names.every(({left}, i) => !i || left >= names[i - 1].right - 2),
			document.querySelector('.hm-list .hm-here').textContent].join();
	})()`
	for _, c := range []struct {
		width int64
		want  string
	}{
		{446, "false,true,false,true,arew51 3.0key 2.0s 1.090 %"},
		{1000, "false,true,false,true,arew51 3.0key 2.0s 1.090 %"},
		{1250, "true,false,false,true,arew51 3.0key 2.0s 1.090 %"},
		{1600, "true,false,false,true,arew51 3.0key 2.0s 1.090 %"},
	} {
		b.Resize(t, c.width, 900)
		if got := chromium.Evaluate[string](t, b, read); got != c.want {
			t.Errorf("%d px: matrix, list, page wide, matrix even, row: %s, want %s", c.width, got, c.want)
		}
	}
	if got := see(t, b, click(".hm-list>div", 1)); got.Framed != "here" {
		t.Errorf("a click in the list frames %q", got.Framed)
	}
	b.Show(t, pageOf(t, touched())+notebook)
	if aligned := chromium.Evaluate[string](t, b, "[...new Set([...document.querySelectorAll("+
		"'.hm-matrix td[data-c]')].map((e) => getComputedStyle(e).textAlign))].join()"); aligned != "center" {
		t.Errorf("in a notebook numbers are aligned %s", aligned)
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
		colored := "0 the p5," + before
		if c.token == 0 {
			colored = "0 the p5"
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

// TestHeatmapMethods opens three methods and more: each has a button, and a row without values says
// why.
func TestHeatmapMethods(t *testing.T) {
	b := tab(t)
	b.Show(t, document(pictures(t)["all methods"]))
	for i, name := range pictures(t)["all methods"].Explanation.Order {
		got := see(t, b, click(".hm-tabs button", i))
		if got.Tab != name || got.Say == "" || got.Row == "" {
			t.Errorf("a click on %s opens %+v", name, got)
		}
	}
}

// TestHeatmapUnits switches a page of words to tokens and back: each has its own columns, a choice
// in one stays while the other is shown, and a click on the unit that is shown changes nothing.
func TestHeatmapUnits(t *testing.T) {
	b := tab(t)
	e := fed()
	for _, r := range e.Methods {
		r.OtherMass = make([]float64, r.Shape[0]*r.Shape[2])
	}
	b.Show(t, document(render.Heatmap{Explanation: e, Words: true}))
	const read = `[[...document.querySelectorAll('.hm-matrix thead th[data-c]')].map((e) => e.textContent).join(' '),
		document.querySelector('.hm-say').textContent, document.querySelectorAll('.hm-bar').length].join('; ')`
	for _, c := range []struct{ script, want string }{
		{"", "the keys to are; “are” came from keys; 1"},
		{choose("words"), "the keys to are; “are” came from keys; 1"},
		{choose("tokens"), "the key s to are; “are” came from keys; 1"},
		{choose("tokens") + token(2), "the key s to are; s stands out most for are; 1"},
		{choose("words") + row(1), "the keys to are; “here” came from “to”; 1"},
		{choose("tokens"), "the key s to are; s stands out most for are; 1"},
		{choose("words"), "the keys to are; “here” came from “to”; 1"},
	} {
		see(t, b, c.script)
		if got := chromium.Evaluate[string](t, b, read); got != c.want {
			t.Errorf("%s: %s, want %s", c.script, got, c.want)
		}
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
	if framed != "“here” came from “to”" {
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
			what, script, "s at 3 → [64] came partly from keys",
			"keys 21.4 %, to 14.8 %, the (1) 14.1 %", "s",
			"0 the p5,1 key p4,3 to p5,4 the p4,5 cabinet p4", "s at 3 → [64] p4p5p4p6p5p4p4p4",
			"",
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
				"1 key n4,2 s p4", "are sn4p4z-", "",
			},
			{
				"another token", token(5),
				"“here” has more from “to” with value-zeroing than with direct",
				"more in B to −22.2 % · more in A keys +22.2 %", "here",
				"2 s p6,3 to n6", "here szp6n6z", "",
			},
			{
				"the first side", token(4) + click(".hm-tabs button", 0),
				"“are” came from keys", "keys (1) +66.7 %, keys (2) +33.3 %",
				"are", "1 key p6,2 s p4", "are zp6p4z-", "",
			},
			{"a source", token(2), "s stands out most for are", "prompt 2", "s", "4 are p4,5 here n3", "", ""},
		}},
		{"encoder", render.Heatmap{Explanation: encoder}, []want{
			atS("at first", ""), {
				"another position", token(5), "cabinet at 6 → [64] came partly from " +
					"cabinet", "cabinet 22.1 %, to 14.8 %",
				"cabinet", "0 the p5,1 key p4,3 to p5,4 the p5",
				"cabinet at 6 → [64] p4p5p4p4p5p5p6p4", "",
			},
			{
				"another token", token(0),
				"the stands out most for s at 3 → [64] and cabinet at 6 " +
					"→ [64]", "text 1", "the",
				"2 s p5,5 cabinet p5", "", "",
			},
			atS("left", press("Escape", "ArrowLeft")),
		}},
		{"two predictions of a token", render.Heatmap{Explanation: &same}, []want{
			{
				"the second", row(1), "s at 3 → [64] came partly from cabinet", "cabinet 22.1 %",
				"s",
				"0 the p5,1 key p4,3 to p5,4 the p5,5 cabinet p6", "s at 3 → [64] p4p5p4p4p5p5p6p4",
				"",
			},
			atS("the first", row(0)),
		}},
		{"targets", render.Heatmap{Explanation: target}, []want{
			{"at first", "", "“are” came from keys", "keys (1) +2.00, keys (2) +1.00", "are", "1 key p6,2 s p5", "are zp6p5zs-", ""},
			{
				"its own", over(0, 4), "“are” came from keys",
				"keys (1) +2.00, keys (2) +1.00", "are",
				"1 key p6,2 s p5", "are zp6p5zs-",
				"are ← are +9.00 · generated 1 · not in the scale",
			},
			{
				"another target", row(1), "“here” came from “to”",
				"to +2.00, are +1.00 · against it keys −1.00", "here",
				"2 s n5,3 to p6,4 are p5", "here zzn5p6p5s", "",
			},
			{
				"a source", token(4) + token(4),
				"are stands out most for here", "generated 1", "are",
				"5 here p5", "",
				"",
			},
		}},
		{"spans", render.Heatmap{Explanation: divided(t, touched(), "word")}, []want{
			{"at first", "", "“are” came from keys", "keys +3.00", "are", "1 keys p6", "are zp6z", ""},
			{"a source", token(1), "keys stands out most for are", "prompt 1", "keys", "3 are p6,4 here n4", "", ""},
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
