package chart

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Column is one more number of each point, which tooltips in notebooks show.
type Column struct {
	Name string
	// Values has a number for each point; NaN is left empty.
	Values []float64
	// Named reports whether the numbers are indices of [Chart.Names], whose texts are shown.
	Named bool
}

// name returns the text of a tooltip for a number that is an index of names.
func (c *Chart) name(v float64) any {
	if !indexOf(v, c.Names) {
		return nil
	}
	return strconv.Itoa(int(v)) + " " + c.Names[int(v)]
}

// columnFields returns the names of the columns of the series and whether each is named, in order.
func (c *Chart) columnFields() (names []string, named []bool) {
	for _, s := range c.Series {
		for _, x := range s.Columns {
			if !slices.Contains(names, x.Name) {
				names, named = append(names, x.Name), append(named, x.Named)
			}
		}
	}
	return names, named
}

// pointFields are the fields of a point or a marker beside its columns.
var pointFields = []string{
	"series", "x", "y", "a", "b", "c", "value", "label", "symbol", "row", "column",
}

// columnField returns the field that holds a column: its name, or its place where the name is
// that of another field, or may become one, or has a character that a specification takes for more
// than a name.
func (c *Chart) columnField(name string) string {
	special := strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" -_", r)
	})
	derived := strings.HasSuffix(name, " name")
	if !special && !derived && name != "" && !slices.Contains(pointFields, name) {
		return name
	}
	names, _ := c.columnFields()
	return fmt.Sprint("column ", slices.Index(names, name))
}

// columnTips returns the entries of tooltips for the columns of points.
func (c *Chart) columnTips() []any {
	var tips []any
	names, named := c.columnFields()
	for i, name := range names {
		field := c.columnField(name)
		tip := object{"field": field, "type": "quantitative"}
		if field != name {
			tip["title"] = name
		}
		if named[i] {
			tip = object{"field": field + " name", "type": "nominal", "title": name}
		}
		tips = append(tips, tip)
	}
	return tips
}
