package figures

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution/focus"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
)

// The names of menus in a notebook.
const (
	layerMenu = "layer"
	headMenu  = "head"
	rankMenu  = "sort_idx"
	firstMenu = "rows on the first token"
)

// The options of firstMenu.
const leftOut, shown = "left out", "shown"

// menu returns a choice of a number from 0 to n-1.
func menu(name string, n, at int) chart.Choice {
	return chart.Choice{Name: name, Options: levels(n), Shown: fmt.Sprint(at)}
}

// eachHead gives a chart menus of layers and heads. fill puts what one head shows into a variant.
func (r *run) eachHead(
	c *chart.Chart, text *focus.Text, fill func(h *focus.Head) (chart.Variant, error),
) error {
	c.Choices = append(c.Choices, menu(layerMenu, text.Layers, r.layer(clausLayer)),
		menu(headMenu, text.Heads, r.head()))
	for l := range text.Layers {
		for k := range text.Heads {
			h, err := text.Head(l, k)
			if err != nil {
				return err
			}
			v, err := fill(h)
			if err != nil {
				return err
			}
			v.Options = []string{fmt.Sprint(l), fmt.Sprint(k)}
			c.Variants = append(c.Variants, v)
		}
	}
	return nil
}

// pictureBytes is how large the specification of a picture with menus may be, so that all of a
// notebook fit in 2,000,000 bytes.
const pictureBytes = 130_000

// menuPicture adds a picture whose charts have menus. If the data of all options have more bytes
// than the limit, or more points than a chart can have, the first menu has every second option,
// every third … or is left out.
func (r *run) menuPicture(limit, columns int, charts ...chart.Chart) error {
	all := slices.Clone(charts)
	for step := 1; len(charts[0].Choices) > 0; {
		if !slices.ContainsFunc(charts, manyPoints) {
			spec, err := chart.Grid(columns, charts...)
			if err != nil {
				return err
			}
			text, err := json.Marshal(spec)
			if err != nil {
				return err
			}
			if len(text) <= limit {
				break
			}
		}
		first := all[0].Choices[0]
		step++
		charts = slices.Clone(all)
		for i := range charts {
			charts[i].Thin(first.Name, step)
		}
		if len(charts[0].Choices[0].Options) < 2 {
			for i := range all {
				all[i].Fix(first.Name)
			}
			charts, step = slices.Clone(all), 1
		}
	}
	var menus []string
	for _, x := range charts[0].Choices {
		menus = append(menus, fmt.Sprintf("%s (%s)", x.Name, strings.Join(x.Options, ", ")))
	}
	if len(menus) > 0 {
		r.note("In a notebook the picture has menus: %s.", strings.Join(menus, "; "))
	}
	r.picture("", columns, charts...)
	return nil
}

// manyPoints returns whether the menus of a chart have more points and cells than can be drawn.
func manyPoints(c chart.Chart) bool {
	n := 0
	for _, v := range c.Variants {
		if v.Matrix != nil {
			n += len(v.Matrix.Data)
		}
		for _, s := range v.Series {
			n += len(s.Y)
		}
	}
	return n > chart.MaxPoints
}
