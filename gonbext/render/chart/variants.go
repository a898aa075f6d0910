package chart

import (
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Choice is a menu below a chart in a notebook, such as that of layers. Charts of one picture that
// have a choice of the same name share the menu.
type Choice struct {
	// Name says what is chosen, and Options are the entries of the menu.
	Name    string
	Options []string
	// Shown is the option that is chosen at first. The data of the chart itself belong to it.
	Shown string
}

// Variant is what a chart shows for one option of each choice.
type Variant struct {
	// Options has an option for each choice, in the order of the choices.
	Options []string
	// Series and Matrix are as in [Chart]. The rows and columns of Matrix are those of the chart.
	Series   []Series
	Matrix   *Matrix
	Ellipses []Ellipse
}

// Column is one more number of each point, which tooltips in notebooks show.
type Column struct {
	Name string
	// Values has a number for each point; NaN is left empty.
	Values []float64
	// Named says that the numbers are indices of [Chart.Names], whose texts are shown.
	Named bool
}

// checkVariants returns an error if a variant does not fit the choices or the kind.
func (c *Chart) checkVariants() error {
	if len(c.Choices) == 0 && len(c.Variants) > 0 {
		return fmt.Errorf("chart: %d variants and no choice", len(c.Variants))
	}
	cells, shown := 0, false
	for i, v := range c.Variants {
		if len(v.Options) != len(c.Choices) {
			return fmt.Errorf("chart: variant %d has %d options; want one for each of %d choices",
				i, len(v.Options), len(c.Choices))
		}
		first := true
		for k, choice := range c.Choices {
			if !slices.Contains(choice.Options, v.Options[k]) {
				return fmt.Errorf("chart: variant %d: %q is no option of the choice %q", i,
					v.Options[k], choice.Name)
			}
			first = first && v.Options[k] == choice.Shown
		}
		shown = shown || first
		one := c.variant(v)
		if err := one.Check(); err != nil {
			return fmt.Errorf("chart: variant %d: %w", i, err)
		}
		if v.Matrix != nil {
			cells += len(v.Matrix.Data)
		}
		for _, s := range v.Series {
			cells += len(s.Y)
		}
	}
	if len(c.Choices) > 0 && !shown {
		return fmt.Errorf("chart: no variant has the options that are shown at first")
	}
	if cells > maxPoints {
		return fmt.Errorf("chart: %d points and cells in all variants; at most %d can be drawn",
			cells, maxPoints)
	}
	return nil
}

// variant returns the chart that shows one variant alone.
func (c *Chart) variant(v Variant) Chart {
	one := *c
	one.Choices, one.Variants = nil, nil
	one.Series, one.Matrix, one.Ellipses = v.Series, v.Matrix, v.Ellipses
	return one
}

// views returns the variants, or the data of a chart that has none.
func (c *Chart) views() []Variant {
	if len(c.Choices) > 0 {
		return c.Variants
	}
	return []Variant{{Series: c.Series, Matrix: c.Matrix, Ellipses: c.Ellipses}}
}

// Fix removes a choice: what is shown at first stays, and the title names it. It does nothing if
// there is no such choice.
func (c *Chart) Fix(name string) {
	k := slices.IndexFunc(c.Choices, func(x Choice) bool { return x.Name == name })
	if k < 0 {
		return
	}
	shown := c.Choices[k].Shown
	if c.MenuTitle != "" {
		c.MenuTitle += ", " + name + " " + shown
	}
	c.Choices = slices.Delete(slices.Clone(c.Choices), k, k+1)
	var kept []Variant
	for _, v := range c.Variants {
		if len(c.Choices) > 0 && v.Options[k] == shown {
			v.Options = slices.Delete(slices.Clone(v.Options), k, k+1)
			kept = append(kept, v)
		}
	}
	c.Variants = kept
}

// Thin keeps each step-th option of a choice, counted from the one that is shown at first. It does
// nothing if there is no such choice. It panics if step is not positive.
func (c *Chart) Thin(name string, step int) {
	k := slices.IndexFunc(c.Choices, func(x Choice) bool { return x.Name == name })
	if k < 0 {
		return
	}
	choice := c.Choices[k]
	at := slices.Index(choice.Options, choice.Shown)
	var options []string
	for i, option := range choice.Options {
		if (i-at)%step == 0 {
			options = append(options, option)
		}
	}
	c.Choices = slices.Clone(c.Choices)
	c.Choices[k].Options = options
	c.Variants = slices.DeleteFunc(slices.Clone(c.Variants), func(v Variant) bool {
		return !slices.Contains(options, v.Options[k])
	})
}

// field returns the name of a choice in a specification: a name that its expressions can have.
func (x Choice) field() string {
	return "choice_" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, x.Name)
}

// parameters returns the menus, and the names that tooltips look up.
func (c *Chart) parameters() []any {
	var all []any
	for _, x := range c.Choices {
		all = append(all, object{
			"name": x.field(), "value": x.Shown, "bind": object{
				"input": "select", "options": anys(x.Options), "name": x.Name + " ",
			},
		})
	}
	if len(c.Choices) > 0 && c.Names != nil {
		all = append(all, object{"name": c.namesField(), "value": anys(c.Names)})
	}
	return all
}

// namesField is the name of the list of names; charts with the same names share it.
func (c *Chart) namesField() string {
	text := strings.Join(c.Names, "\x00")
	h := uint32(2166136261) // FNV-1a
	for i := range len(text) {
		h = (h ^ uint32(text[i])) * 16777619
	}
	return fmt.Sprintf("names_%08x", h)
}

// options adds the options of a variant to a row of data.
func (c *Chart) options(row object, v Variant) {
	for k, x := range c.Choices {
		row[x.field()] = v.Options[k]
	}
}

// source puts rows into a layer. The rows of a chart with choices are CSV, which takes a third of
// the space in a notebook, numbers with four digits, and a filter selects those of the options.
func (c *Chart) source(layer object, rows []any) object {
	if len(c.Choices) == 0 {
		layer["data"] = data(rows)
		return layer
	}
	layer["data"] = table(rows)
	var transform []any
	for _, x := range c.Choices {
		transform = append(transform, object{
			"filter": fmt.Sprintf("datum.%s === %s", x.field(), x.field()),
		})
	}
	layer["transform"] = transform
	return layer
}

// pointSource is source for a layer of points, whose tooltips look up names.
func (c *Chart) pointSource(layer object, rows []any) object {
	layer = c.source(layer, rows)
	if len(c.Choices) == 0 {
		return layer
	}
	transform := layer["transform"].([]any)
	for _, name := range c.namedColumns() {
		name = c.columnField(name)
		transform = append(transform, object{
			"calculate": fmt.Sprintf("datum['%s'] + ' ' + %s[datum['%s']]", name, c.namesField(),
				name), "as": name + " name",
		})
	}
	layer["transform"] = transform
	return layer
}

// name returns what a tooltip says of a number that is an index of names.
func (c *Chart) name(v float64) any {
	if !indexOf(v, c.Names) {
		return nil
	}
	return brief(v) + " " + c.Names[int(v)]
}

// columnFields returns the names of the columns of the series and whether each is named, in order.
func (c *Chart) columnFields() (names []string, named []bool) {
	for _, v := range c.views() {
		for _, s := range v.Series {
			for _, x := range s.Columns {
				if !slices.Contains(names, x.Name) {
					names, named = append(names, x.Name), append(named, x.Named)
				}
			}
		}
	}
	return names, named
}

// pointFields are the fields of a point or a marker beside its columns.
var pointFields = []string{
	"series", "x", "y", "value", "label", "symbol", "row", "column", "order",
}

// columnField returns the field that holds a column: its name, or its place where the name is
// that of another field or has a character that a specification takes for more than a name.
func (c *Chart) columnField(name string) string {
	special := strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" -_", r)
	})
	if !special && name != "" && !slices.Contains(pointFields, name) {
		return name
	}
	names, _ := c.columnFields()
	return fmt.Sprint("column ", slices.Index(names, name))
}

// namedColumns returns the columns whose numbers are indices of names.
func (c *Chart) namedColumns() []string {
	var all []string
	names, named := c.columnFields()
	for i, name := range names {
		if named[i] {
			all = append(all, name)
		}
	}
	return all
}

// table returns inline data as CSV with a line for each row.
func table(rows []any) object {
	var fields []string
	parse := object{}
	for _, r := range rows {
		for name, v := range r.(object) {
			if _, known := parse[name]; !known {
				fields = append(fields, name)
				parse[name] = "string"
			}
			switch v.(type) {
			case float64:
				parse[name] = "number"
			case bool:
				parse[name] = "boolean"
			}
		}
	}
	slices.Sort(fields)
	var b strings.Builder
	w := csv.NewWriter(&b)
	line := make([]string, len(fields))
	_ = w.Write(fields) // a strings.Builder takes everything
	for _, r := range rows {
		for i, name := range fields {
			switch v := r.(object)[name].(type) {
			case nil:
				line[i] = ""
			case float64:
				line[i] = brief(v)
			case bool:
				line[i] = strconv.FormatBool(v)
			default:
				line[i] = fmt.Sprint(v)
			}
		}
		_ = w.Write(line)
	}
	w.Flush()
	return object{
		"values": b.String(), "format": object{"type": "csv", "parse": parse},
	}
}

// brief writes a number with four digits.
func brief(v float64) string {
	switch {
	case math.IsNaN(v):
		return ""
	case v == 0:
		return "0" // not -0
	}
	if v == math.Trunc(v) && math.Abs(v) < 1e6 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	s := strconv.FormatFloat(v, 'g', 4, 64)
	s = strings.Replace(s, "0.", ".", 1)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "-.") {
		return s
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

const thousand = 1000

// cellsOf returns the cells of a heatmap's variants: a line of CSV for each row of each variant,
// whose numbers, in thousandths, a transform divides into cells.
func (c *Chart) cellsOf(rows, columns []string) (source object, transform []any) {
	var lines []any
	for _, v := range c.Variants {
		for i := range rows {
			values, last := make([]string, len(columns)), -1
			for j := range columns {
				x := v.Matrix.At(i, j)
				if !math.IsNaN(x) {
					last = j
					values[j] = strconv.FormatFloat(math.Round(x*thousand), 'f', 0, 64)
				}
			}
			line := object{"row": rows[i], "cells": strings.Join(values[:last+1], " ")}
			c.options(line, v)
			lines = append(lines, line)
		}
	}
	layer := c.source(object{}, lines)
	transform = append(layer["transform"].([]any),
		object{"calculate": "split(datum.cells, ' ')", "as": "value"},
		object{"calculate": "sequence(length(datum.value))", "as": "at"},
		object{"flatten": []any{"value", "at"}},
		object{"filter": "datum.value !== ''"},
		object{"calculate": fmt.Sprintf("toNumber(datum.value) / %d", thousand), "as": "value"},
		named("column", columns, "at"))
	return layer["data"].(object), transform
}
