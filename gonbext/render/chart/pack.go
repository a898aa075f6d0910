package chart

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A chart with choices may have ten thousand points, and a notebook holds them all. So rows with
// the same options become one row, whose fields are lists, and what another field says is left out.
// Transforms of the specification undo this.
//
// On another processor numbers may differ a little, and a notebook must have the same form there.
// So a shorter form is taken only where it saves a clear part, and equal means nearly equal.

// numberTable is rows whose fields are numbers, beside those of the options.
type numberTable struct {
	fields  []string             // sorted
	values  map[string][]float64 // of each row; NaN is a gap
	texts   map[string][]string  // the same as they are written
	options []object
	keys    []string // rows with the same options have the same key
}

// packing says how the fields of a table are written.
type packing struct {
	// once is a field that a whole row has one number of, such as that of the series; or none.
	once string
	// lists are fields with a number for each point.
	lists []string
	// places are fields that another one determines, as the token looked at determines its bias:
	// place k has the number of the points whose other field is k. copies are equal to another.
	places, copies map[string]string
}

// pack makes one row of those that have the same options, if all they have is numbers, and returns
// the transforms that divide it into rows again.
func (c *Chart) pack(rows []any) (packed, transforms []any) {
	t := c.numberTable(rows)
	if t == nil || len(t.groups("")) == len(rows) {
		return rows, nil
	}
	best := t.packing("")
	bytes := t.bytes(best)
	for _, name := range t.fields {
		const clear = 0.95
		if p := t.packing(name); len(p.lists) > 0 {
			if n := t.bytes(p); n < clear*bytes {
				best, bytes = p, n
			}
		}
	}
	return t.rows(best), t.transforms(best)
}

// numberTable returns the rows of a chart with choices as a table, or nil if not all rows have the
// same fields or one of them is no number.
func (c *Chart) numberTable(rows []any) *numberTable {
	t := &numberTable{values: map[string][]float64{}, texts: map[string][]string{}}
	for _, r := range rows {
		row, own, key := r.(object), object{}, ""
		for _, x := range c.Choices {
			if option, has := row[x.field()]; has {
				own[x.field()] = option
				key += fmt.Sprintf("%q", option)
			}
			key += ";"
		}
		t.options, t.keys = append(t.options, own), append(t.keys, key)
		var names []string
		for name, v := range row {
			if _, is := own[name]; is {
				continue
			}
			text, is := numeral(v)
			if !is {
				return nil
			}
			names = append(names, name)
			t.texts[name] = append(t.texts[name], text)
			t.values[name] = append(t.values[name], valueOf(v))
		}
		slices.Sort(names)
		if t.fields == nil {
			t.fields = names
		}
		if !slices.Equal(t.fields, names) {
			return nil
		}
	}
	return t
}

// valueOf returns a number of a row; nil is NaN.
func valueOf(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case rough:
		return float64(v)
	}
	return math.NaN()
}

// groups returns the rows with the same options, and the same number of a field if it has a name,
// in the order of the first of them.
func (t *numberTable) groups(once string) (groups [][]int) {
	at := map[string]int{}
	for i, key := range t.keys {
		if once != "" {
			key += t.texts[once][i]
		}
		k, known := at[key]
		if !known {
			k = len(groups)
			at[key], groups = k, append(groups, nil)
		}
		groups[k] = append(groups[k], i)
	}
	return groups
}

// packing returns the shortest form of a table in which one field, if any, stands once in a row.
func (t *numberTable) packing(once string) packing {
	p := packing{once: once, places: map[string]string{}, copies: map[string]string{}}
	p.lists = without(t.fields, once)
	groups := t.groups(once)
	for _, name := range slices.Clone(p.lists) {
		if p.isKey(name) {
			continue
		}
		const clear = 0.9
		shortest, by := int(clear*float64(t.listBytes(groups, name))), ""
		for _, key := range without(p.lists, name) {
			if t.same(name, key) {
				p.copies[name], by = key, ""
				break
			}
			if n, determined := t.placesBytes(groups, name, key); determined && n < shortest {
				shortest, by = n, key
			}
		}
		if by != "" {
			p.places[name] = by
		}
		if by != "" || p.copies[name] != "" {
			p.lists = without(p.lists, name)
		}
	}
	return p
}

// isKey returns whether other fields are told from this one.
func (p *packing) isKey(name string) bool {
	for _, of := range []map[string]string{p.places, p.copies} {
		for _, key := range of {
			if key == name {
				return true
			}
		}
	}
	return false
}

// bytes returns how many bytes the lines of a table take.
func (t *numberTable) bytes(p packing) float64 {
	groups, n := t.groups(p.once), 0
	for _, g := range groups {
		for _, option := range t.options[g[0]] {
			n += len(fmt.Sprint(option)) + 1
		}
		if p.once != "" {
			n += len(t.texts[p.once][g[0]]) + 1
		}
	}
	for _, name := range p.lists {
		n += t.listBytes(groups, name)
	}
	for name, key := range p.places {
		more, _ := t.placesBytes(groups, name, key)
		n += more
	}
	return float64(n)
}

func (t *numberTable) listBytes(groups [][]int, name string) (n int) {
	for _, g := range groups {
		n += len(t.list(g, name)) + 1
	}
	return n
}

// placesBytes also returns whether key determines the field.
func (t *numberTable) placesBytes(groups [][]int, name, key string) (n int, determined bool) {
	for _, g := range groups {
		places, determined := t.places(g, name, key)
		if !determined {
			return 0, false
		}
		n += len(places) + 1
	}
	return n, true
}

// list returns the numbers of a field as one text: 3:7 for whole numbers from 3 to 7.
func (t *numberTable) list(group []int, name string) string {
	texts := make([]string, len(group))
	for k, i := range group {
		texts[k] = t.texts[name][i]
	}
	first, err := strconv.Atoi(texts[0])
	run := err == nil && len(texts) > 2
	for k := 1; k < len(texts) && run; k++ {
		run = texts[k] == strconv.Itoa(first+k)
	}
	if run {
		return fmt.Sprintf("%d:%d", first, first+len(texts)-1)
	}
	return strings.Join(texts, " ")
}

// same returns whether two fields have the same whole numbers.
func (t *numberTable) same(a, b string) bool {
	for i, v := range t.values[a] {
		if v != t.values[b][i] || v != math.Trunc(v) || t.texts[a][i] != t.texts[b][i] {
			return false
		}
	}
	return true
}

// maxPlace bounds the places of a list.
const maxPlace = 10_000

// places returns the numbers of a field at the places that key has, and whether key determines
// them. Nothing stands at a place without a point.
func (t *numberTable) places(group []int, name, key string) (text string, determined bool) {
	var places []string
	values := map[int]float64{}
	for _, i := range group {
		k, v := t.values[key][i], t.values[name][i]
		if k != math.Trunc(k) || k < 0 || k > maxPlace || math.IsNaN(v) {
			return "", false
		}
		at := int(k)
		if before, known := values[at]; known {
			const rounding = 1e-5 // sums may be added in another order
			if math.Abs(v-before) > rounding*max(math.Abs(v), math.Abs(before)) {
				return "", false
			}
			continue
		}
		values[at] = v
		for len(places) <= at {
			places = append(places, "")
		}
		places[at] = t.texts[name][i]
	}
	return strings.Join(places, " "), true
}

// rows returns the lines of a table.
func (t *numberTable) rows(p packing) (all []any) {
	for _, g := range t.groups(p.once) {
		row := maps.Clone(t.options[g[0]])
		if p.once != "" {
			row[p.once] = t.values[p.once][g[0]]
		}
		for _, name := range p.lists {
			row[name] = t.list(g, name)
		}
		for name, key := range p.places {
			row[name], _ = t.places(g, name, key)
		}
		all = append(all, row)
	}
	return all
}

// transforms returns what makes a row for each point. A transform is computed again when a menu
// changes, so none replaces a field that it reads.
func (t *numberTable) transforms(p packing) (all []any) {
	calculate := func(field, format string, names ...any) {
		all = append(all, object{"calculate": fmt.Sprintf(format, names...), "as": field})
	}
	var parts []string
	for _, name := range p.lists {
		parts = append(parts, name+" parts")
		if !t.hasRun(p, name) {
			calculate(name+" parts", "split(datum['%s'] || '', ' ')", name)
			continue
		}
		calculate(name+" parts", "indexof(datum['%[1]s'] || '', ':') < 0 ? "+
			"split(datum['%[1]s'] || '', ' ') : sequence(toNumber(split(datum['%[1]s'], ':')[0]), "+
			"toNumber(split(datum['%[1]s'], ':')[1]) + 1)", name)
	}
	determined := slices.Sorted(maps.Keys(p.places))
	for _, name := range determined {
		calculate(name+" parts", "split(datum['%s'] || '', ' ')", name)
	}
	all = append(all, object{"flatten": anys(parts), "as": anys(p.lists)})
	for _, name := range p.lists {
		calculate(name, "toNumber(datum['%s'])", name)
	}
	for _, name := range determined {
		calculate(name, "toNumber(datum['%s parts'][datum['%s']])", name, p.places[name])
	}
	for _, name := range slices.Sorted(maps.Keys(p.copies)) {
		calculate(name, "datum['%s']", p.copies[name])
	}
	return all
}

// hasRun returns whether a list of a field is written as its ends.
func (t *numberTable) hasRun(p packing, name string) bool {
	return slices.ContainsFunc(t.groups(p.once), func(g []int) bool {
		return strings.Contains(t.list(g, name), ":")
	})
}

// without returns names without one of them.
func without(names []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == name })
}
