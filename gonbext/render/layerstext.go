package render

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// plain implements [View].
func (r Layers) plain(look Terminal) (*text, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	t := newText(Terminal{Width: look.Width})
	p := r.open(false)
	t.picture = p.picture
	t.panels(p, true)
	if look.MaxBytes > 0 && t.Len() > look.MaxBytes {
		t.Reset()
		t.panels(p, false)
	}
	return t, nil
}

// panels writes the blocks of all tokens, with or without a line for each layer.
func (t *text) panels(p *layersPage, lines bool) {
	t.head()
	for _, i := range p.shown {
		v := &p.views[i]
		for _, token := range p.tokens {
			_, _, chance := p.predictionText(token)
			t.line("")
			t.line(fmt.Sprintf("%3d  %s  %s  %s", token+1, p.rowName(token), chance,
				Visible(v.name, nameLimit)))
			t.wrapped("     ", p.strongest(v, token))
			if lines && v.has(token) {
				t.layers(v, token)
			}
		}
	}
	t.line("")
	if lines {
		t.wrapped("", "Each line: a layer, the last one first, and the tokens that stand out "+
			"in it, the strongest first. ▸ marks the layer that other pictures show. "+
			"Layers in which nothing stands out are left out."+sumsOf(p))
	} else {
		t.wrapped("", "The lines of the layers are left out here: the text would be too long. All "+
			"numbers are in the explanation.")
	}
	t.model()
}

// sumsOf says which methods have lines that are sums from below, "" if none.
func sumsOf(p *layersPage) string {
	var names []string
	for _, i := range p.shown {
		if v := &p.views[i]; v.scorer() {
			names = append(names, Visible(v.name, nameLimit)+v.sums(": "))
		}
	}
	if names == nil {
		return ""
	}
	return " " + strings.Join(names, "; ") + "."
}

// layers writes a line for each layer of a token in which something stands out.
func (t *text) layers(v *view, token int) {
	for k := v.result.Shape[2] - 1; k >= 0; k-- {
		var row []int
		for j := range v.sources(token) {
			if paint := v.layerPaint(t.picture, token, j, k); paint != 0 && paint != sinkPaint &&
				paint != nanPaint {
				row = append(row, j)
			}
		}
		if row == nil {
			continue
		}
		at := func(j int) float64 { return v.atLevel(token, j, k) }
		slices.SortStableFunc(row, func(a, b int) int {
			return cmp.Compare(math.Abs(v.linear(at(b))), math.Abs(v.linear(at(a))))
		})
		var names []string
		for _, j := range row[:min(len(row), listed)] {
			names = append(names, t.sourceName(j)+" "+v.top.value(at(j)))
		}
		mark := " "
		if k == v.level(token) {
			mark = "▸"
		}
		t.wrapped(fmt.Sprintf("   %s layer %2d  ", mark, v.result.Layer(token, k)),
			strings.Join(names, ", "))
	}
}
