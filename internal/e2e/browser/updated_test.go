package browser

import (
	"fmt"
	"testing"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/e2e/chromium"
)

// again returns a script that puts a picture in the place of another one, as a notebook does.
func again(markup string) string {
	return fmt.Sprintf(`const output = document.querySelector('#output');
		output.innerHTML = %q;
		const old = output.querySelector('script:not([type])'), script = document.createElement('script');
		script.textContent = old.textContent;
		old.replaceWith(script);`, markup)
}

// TestUpdate replaces a picture that grows, as a notebook does: what the reader chose and opened
// stays, and a reader who chose no token goes on reading about the one that the picture opens with.
func TestUpdate(t *testing.T) {
	b := tab(t)
	early := touched()
	early.Steps = early.Steps[:1]
	for name, r := range early.Methods {
		r.Rows, r.Shape[0] = r.Rows[:len(r.Rows)/2], 1
		early.Methods[name] = r
	}
	replace := again(cellOf(t, touched()))
	start := output(htmlOf(render.Heatmap{Explanation: early, Status: "1 token so far"}), "white",
		"black")
	are := want{
		"one token", "", "“are” came from keys", "keys (1) ", "are", "1 key p6,2 s p5",
		"are zp6p5z", "",
	}
	b.Show(t, start)
	are.check(t, b)
	are.what, are.script = "two tokens", replace
	are.check(t, b)

	b.Show(t, start)
	see(t, b, "document.querySelectorAll('details').forEach((e) => { e.open = false; });"+choose("green and purple")+choose("value-zeroing")+token(1)+
		"document.querySelector('.hm-details summary').click()")
	chromium.Evaluate[bool](t, b, "new Promise((done) => setTimeout(() => done(true), 50))", await)
	w := want{"a chosen token stays", replace, "key stands out most for are", "prompt 1", "key",
		"4 are p6", "", ""}
	for range 3 {
		w.check(t, b)
		if got := chromium.Evaluate[string](t, b, `[document.querySelector('.hm').dataset.palette,
			document.querySelector('.hm-details').open, document.querySelector('.hm-menu [aria-checked=true]').textContent,
			document.querySelectorAll('.hm-bar').length].join()`); got != "green-purple,true,green and purple,1" {
			t.Errorf("after the update the picture has %s", got)
		}
	}
	// Pictures that were replaced are not kept, nor what listens to the page for them.
	kept := chromium.Evaluate[string](t, b, `(() => {
		const held = Object.values(window.headwaterPictures).flat().filter((e) => e.root instanceof Element);
		let drawn = 0;
		const add = window.addEventListener;
		window.addEventListener = () => { drawn++; };
		for (let i = 0; i < 3; i++) {`+replace+`}
		window.addEventListener = add;
		return held.length + ' held, ' + drawn + ' listeners';
	})()`)
	if kept != "0 held, 0 listeners" {
		t.Errorf("of replaced pictures there are %s", kept)
	}
	if bars := chromium.Evaluate[int](t, b, `(() => {
		const old = document.querySelector('.hm script:not([type])'), script = document.createElement('script');
		script.textContent = old.textContent;
		old.replaceWith(script);
	})(),document.querySelectorAll('.hm-bar').length`); bars > 1 {
		t.Errorf("a script that runs twice makes %d bars", bars)
	}
}

// TestFewerMethods runs a cell again without the method and the row that were chosen: the picture
// has those that it would have at first.
func TestFewerMethods(t *testing.T) {
	b := tab(t)
	fewer := touched()
	fewer.Order, fewer.Steps = fewer.Order[:1], fewer.Steps[:1]
	r := fewer.Methods["direct"]
	r.Rows, r.Shape[0] = r.Rows[:1], 1
	b.Show(t, output(cellOf(t, touched()), "white", "black"))
	see(t, b, choose("value-zeroing")+token(5))
	want{
		"without it", again(htmlOf(render.Heatmap{Explanation: fewer})),
		"“are” came from keys", "keys (1) 2.00", "are", "1 key p6,2 s p5", "are zp6p5z", "",
	}.check(t, b)
}

// TestTouchTwice has two pictures of one explanation on a page, as two cells of a notebook: each
// keeps its own choice, also when an update replaces one of them.
func TestTouchTwice(t *testing.T) {
	for name, picture := range map[string]render.Picture{
		"heatmap": render.Heatmap{Explanation: touched()}, "heads": attended(),
	} {
		t.Run(name, func(t *testing.T) { twice(t, htmlOf(picture)) })
	}
}

func twice(t *testing.T, markup string) {
	b := tab(t)
	b.Show(t, output(`<div id="a">`+markup+`</div><div id="b">`+markup+`</div>`, "white", "black"))
	click := func(id string, token int) string {
		return fmt.Sprintf("document.querySelectorAll('#%s .hm-text :is(span,u)')[%d].click();", id, token)
	}
	replace := func(id string) string {
		return fmt.Sprintf(`const box = document.querySelector('#%s');
			box.innerHTML = %q;
			new Function(box.querySelector('script:not([type])').textContent)();`, id, markup)
	}
	// A click on a method draws a heatmap, and one that goes to the layer below draws heads.
	const draw = `document.querySelectorAll('.hm').forEach((root) => {
		root.querySelector('.hm-tabs button')?.click();
	});`
	for _, step := range []struct{ what, script, want string }{
		{"a click in each", click("a", 5) + click("b", 4), "here are"},
		{"both are drawn again", draw, "here are"},
		{"a click in the second", click("b", 1) + draw, "here key"},
		{"the first is replaced", replace("a"), "here key"},
		{"the second is replaced", replace("b"), "here key"},
		{"a click in the first", click("a", 4) + draw, "are key"},
	} {
		chromium.Evaluate[bool](t, b, "(() => {"+step.script+"})(),"+chromium.Drawing, await)
		got := chromium.Evaluate[string](t, b, `
			['a', 'b'].map((id) => [...document.querySelectorAll('#' + id + ' .hm-text :is(span,u)')].
				reduce((a, e) => e.classList.contains('hm-ring') || !a && e.classList.contains('hm-here') ?
					e.textContent : a, '')).join(' ')`)
		if got != step.want {
			t.Errorf("%s: the chosen tokens are %q, want %q", step.what, got, step.want)
		}
	}
}

// TestTouchOwnPictures runs the script as a host does that does not say where it came from: it
// leaves pictures alone that have a script of their own.
func TestTouchOwnPictures(t *testing.T) {
	b := tab(t)
	b.Show(t, pageOf(t, touched()))
	got := chromium.Evaluate[string](t, b, `(() => {
		for (const name of ['heads', 'panels', 'flow', 'sources'])
			document.body.insertAdjacentHTML('beforeend', '<div class="hm hm-' + name +
				'"><script type="text/plain">{}</scr' + 'ipt></div>');
		try {
			new Function(document.querySelector('.hm script:not([type])').textContent)();
		} catch (e) {
			return String(e);
		}
		return [...document.querySelectorAll('.hm')].map((e) => !!e.hwStarted).join();
	})()`)
	if got != "true,false,false,false,false" {
		t.Errorf("the pictures that the script began are %s, want the first one alone", got)
	}
}
