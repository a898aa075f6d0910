// Package rendertest tests that a view keeps the contract of pictures. The test of a new one is one
// line:
//
//	func TestMine(t *testing.T) { rendertest.View(t, "mine", model, "The keys", opts) }
package rendertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/testhelp/hostile"
)

// Model is a model that views can be explained and recorded with.
type Model interface {
	trace.Model
	trace.Tracer
}

// View checks that a registered view keeps the contract of pictures, with an explanation of a
// prompt by a model: each form is the same bytes twice and within its room, in every palette; no
// text of a user acts in it, or leaves its place; and what is damaged of what was recorded is
// refused with a [trace.UsageError] or drawn, without a panic.
func View(
	t *testing.T, kind render.Kind, m Model, prompt string, opts attribution.Options,
) {
	t.Helper()
	c := contract{show: render.Show{Kind: kind}}
	err := c.show.SetMethod(&opts)
	if err == nil {
		c.e, err = attribution.Explain(context.Background(), m, prompt, opts)
	}
	if err == nil {
		c.show = c.show.Opened(c.e)
		c.recorded, err = c.show.Record(context.Background(), m, c.e, opts)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.script = scripts.FindString(c.written(t)[page])
	t.Run("forms", c.forms)
	t.Run("damaged", c.damaged)
	t.Run("hostile", c.hostile) // which changes the explanation
}

// contract is a view under test, and script that of its pages, "" for none.
type contract struct {
	show     render.Show
	e        *attribution.Explanation
	recorded render.Recorded
	script   string
}

// The forms of a picture.
const (
	text = iota
	cell
	page
)

// narrow is the width of the texts under test, mostName that of a name that was cut, and mostText
// that of a prompt of one word, which stays whole.
const narrow, mostName, mostText = 60, 200, 2_100

// scripts finds what a page runs, and sheets its style sheet, which no sanitiser keeps.
var (
	scripts = regexp.MustCompile(
		`(?s)<script type="text/plain">[A-Za-z0-9+/=]*</script><script>.*?</script>`)
	sheets = regexp.MustCompile(`(?s)<style>[^<]*</style>`)
)

// written returns the forms of the picture, which fits.
func (c contract) written(t *testing.T) (all [3]string) {
	t.Helper()
	p, err := c.show.Picture(c.e, c.recorded)
	if err != nil {
		t.Fatal(err)
	}
	for i, write := range []func(io.Writer) error{
		func(w io.Writer) error { return render.Text(w, p, render.Terminal{Width: narrow}) },
		func(w io.Writer) error { return render.HTML(w, p) },
		func(w io.Writer) error { return render.Page(w, p) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		all[i] = b.String()
	}
	return all
}

// forms checks every form in every palette.
func (c contract) forms(t *testing.T) {
	for _, palette := range render.PaletteNames() {
		c.show.Palette = palette
		first := c.written(t)
		if first != c.written(t) {
			t.Errorf("palette %s: the same picture gives other bytes the second time", palette)
		}
		if !strings.Contains(first[cell], `data-palette="`+palette+`"`) {
			t.Errorf("palette %s: a page does not name it", palette)
		}
		c.check(t, first, narrow)
	}
}

// room is how large the page of a text that fits the model of a test may be, in bytes.
const room = 480_000

// check checks forms of a picture: their size, that no text acts or leaves its place, and the width
// of lines.
func (c contract) check(t *testing.T, forms [3]string, width int) {
	t.Helper()
	for i, form := range forms {
		if len(form) > room {
			t.Errorf("form %d has %d bytes, want at most %d", i, len(form), room)
		}
		if i == text {
			continue
		}
		// Its data differ, and its code is the same whatever the text is.
		code := func(s string) string { return s[strings.Index(s, "</script>")+1:] }
		if found := scripts.FindString(form); code(found) != code(c.script) {
			t.Fatalf("form %d runs another script: %.200q", i, found)
		}
		hostile.Markup(t, sheets.ReplaceAllString(scripts.ReplaceAllString(form, ""), ""))
	}
	if i := strings.IndexFunc(forms[text], acts); i >= 0 {
		t.Errorf("the text has %.4q at byte %d, which acts", forms[text][i:], i)
	}
	for _, line := range strings.Split(forms[text], "\n") {
		if render.Width(line) > width {
			t.Errorf("a line of %d columns, want at most %d: %q", render.Width(line), width, line)
		}
	}
	c.checkFigure(t)
}

// acts reports whether a character does something by itself besides ending a line.
func acts(r rune) bool {
	return r != '\n' && !unicode.IsPrint(r) || r == unicode.ReplacementChar
}

// checkFigure checks the names of a figure, if the view has one.
func (c contract) checkFigure(t *testing.T) {
	t.Helper()
	p, err := c.show.Picture(c.e, c.recorded)
	if err != nil || c.show.View().Media&render.InFigure == 0 {
		return
	}
	method := c.show.Method
	if method == "" && len(c.e.Order) > 0 {
		method = c.e.Order[0]
	}
	f, err := render.FigureOf(p, method)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []*render.Drawn{f.Matrix, f.Squares, f.Strip} {
		if d == nil {
			continue
		}
		var names []string
		for _, column := range d.Columns {
			names = append(names, column.Name)
		}
		for _, panel := range d.Panels {
			names = append(names, panel.Name)
			for _, row := range panel.Rows {
				names = append(names, row.Name)
				if len(row.Cells) > len(d.Columns) {
					t.Errorf("row %q has %d cells in %d columns", row.Name, len(row.Cells),
						len(d.Columns))
				}
			}
		}
		for _, name := range names {
			if render.Width(name) > mostName || strings.ContainsFunc(name, acts) {
				t.Errorf("a name of %d columns: %q", render.Width(name), name)
			}
		}
	}
}

// hostile draws hostile texts in the place of those of the explanation.
func (c contract) hostile(t *testing.T) {
	const seed, rounds = 7, 25
	r := rand.New(rand.NewPCG(seed, seed))
	for round := range rounds {
		Attack(c.e, r)
		if c.show.View().Record == nil { // else methods are looked up by their names
			c.show.Method = ""
			renameMethods(c.e, r)
		}
		c.check(t, c.written(t), mostText)
		if t.Failed() {
			t.Fatalf("seed %d, round %d", seed, round)
		}
	}
}

// damaged changes one value at a time of what was recorded.
func (c contract) damaged(t *testing.T) {
	for _, one := range c.recorded {
		damage(reflect.ValueOf(one), func(what string) {
			p, err := c.show.Picture(c.e, c.recorded)
			if err != nil {
				if !errors.Is(err, trace.ErrUsage) {
					t.Errorf("%s: error %v, want one of usage", what, err)
				}
				return
			}
			for _, write := range []func() error{
				func() error { return render.Text(io.Discard, p, render.Terminal{}) },
				func() error { return render.HTML(io.Discard, p) },
			} {
				if err := write(); err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
}

// damage calls check after each change of a value, which it takes back. Of a list it changes the
// length and three elements, so that there are few changes.
func damage(v reflect.Value, check func(what string)) {
	set := func(values ...any) {
		old := reflect.ValueOf(v.Interface())
		for _, x := range values {
			v.Set(reflect.ValueOf(x).Convert(v.Type()))
			check(v.Type().String() + " changed")
			v.Set(old)
		}
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			damage(v.Elem(), check)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				damage(v.Field(i), check)
			}
		}
	case reflect.Slice:
		if n := v.Len(); n > 0 {
			set(v.Slice(0, 0).Interface(), v.Slice(0, n-1).Interface())
			for _, i := range []int{0, n / 2, n - 1} {
				damage(v.Index(i), check)
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			damage(v.Index(i), check)
		}
	case reflect.Int:
		set(-1, 0, 1<<20)
	case reflect.Float32, reflect.Float64:
		set(math.NaN(), math.Inf(1), -1e300, 0.)
	}
}

// attacked are the names of the fields that have texts of a user, a model or a file.
var attacked = map[string]bool{
	"Text": true, "Texts": true, "Note": true, "Family": true, "Hash": true, "Backend": true,
	"Unit": true, "Warnings": true, "Contrast": true, "Corrupted": true,
}

// Attack puts hostile texts in the place of those of an explanation and what studies found.
func Attack(e *attribution.Explanation, r *rand.Rand) {
	attack(reflect.ValueOf(e), false, r)
	e.Model.Name = hostile.Text(r)
	e.Prompt.Text = strings.Join(e.Prompt.Texts, "")
	at := 0
	for j := range e.Prompt.Offsets {
		e.Prompt.Offsets[j][0] = at
		at += len(e.Prompt.Texts[j])
		e.Prompt.Offsets[j][1] = at
	}
}

// renameMethods gives the methods of an explanation hostile names.
func renameMethods(e *attribution.Explanation, r *rand.Rand) {
	for i, name := range e.Order {
		changed := fmt.Sprint(hostile.Text(r), i)
		result, rows := e.Methods[name], e.Maps[name]
		delete(e.Methods, name)
		delete(e.Maps, name)
		e.Order[i], e.Methods[changed] = changed, result
		if rows != nil {
			e.Maps[changed] = rows
		}
	}
}

// attack puts hostile texts into a value that isText, and into what it has of attacked names.
func attack(v reflect.Value, isText bool, r *rand.Rand) {
	switch v.Kind() {
	case reflect.String:
		if isText && v.CanSet() {
			v.SetString(hostile.Text(r))
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			attack(v.Elem(), isText, r)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			attack(v.Index(i), isText, r)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if v.MapIndex(key).Kind() == reflect.Pointer {
				attack(v.MapIndex(key), false, r)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				attack(v.Field(i), attacked[f.Name], r)
			}
		}
	}
}
