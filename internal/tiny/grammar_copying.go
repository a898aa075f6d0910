package tiny

import "slices"

// listItems are the words that lists consist of: nouns in both numbers, names and colors.
var listItems = func() []string {
	items := slices.Concat(names, colors)
	for _, n := range nouns {
		items = append(items, n.singular, n.plural)
	}
	return items
}()

// copying makes a list of n different words and repeats it. In a held-out list every two words are
// a held-out pair, so no other word of the list is a more familiar successor than the right one. In
// a training list no two neighbors are a held-out pair.
func (g *Generator) copying(b *builder, n int) {
	first := b.add("list", ":") + 1
	var items []string
	for i := range n {
		item := oneThat(b, listItems, func(w string) bool {
			return !slices.Contains(items, w) && (i == 0 || g.allows(neighbors, items[i-1], w))
		})
		items = append(items, item)
		b.add(item)
	}
	b.add("again", ":")
	for i, item := range items {
		b.answer(item, Answer{
			Form:         "copy",
			Evidence:     []Evidence{{first + i, Source}},
			Alternatives: slices.Concat(items[:i], items[i+1:]),
			Attractors:   n - 1,
		})
	}
	b.add(".")
}
