package focus

import (
	"cmp"
	"slices"

	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// Quantity is a number of a head on one text, in [0,1].
type Quantity string

// The quantities. p are the probabilities of a row and j*(i) is the source with the largest one,
// the first among equals. Means are over the T targets of a text.
const (
	// SelfFraction is mean[j*(i) = i], the fraction of targets that look at themselves most:
	// Figure 4 as its text describes it.
	SelfFraction Quantity = "self-fraction"
	// SelfContinuous is mean p_ii, the mean probability of a target itself: Figure 4 as its
	// published file has it, whose metadata call it continuous.
	SelfContinuous Quantity = "self-continuous"
	// FirstFraction is mean[j*(i) = 0], the fraction of targets that look at the first token most:
	// Figure 5.
	FirstFraction Quantity = "first-fraction"
	// Concentration is the mean of the largest probability minus the second largest one: Figure 6.
	// Where a target sees one source, the second largest is 0, and the difference 1.
	Concentration Quantity = "concentration"
)

// Quantities returns all quantities, in a fixed order.
func Quantities() []Quantity {
	return []Quantity{SelfFraction, SelfContinuous, FirstFraction, Concentration}
}

// check returns an error that lists the known quantities unless q is one.
func (q Quantity) check() error {
	if slices.Contains(Quantities(), q) {
		return nil
	}
	return usagef("unknown quantity %.60q; %s", q, message.KnownAre(q, Quantities()))
}

// Measure returns a quantity of one head in one layer, or of the mean over its heads. It reads T·S
// probabilities. It returns a usage error for a layer or head that does not exist and for an
// unknown quantity.
func (t *Text) Measure(q Quantity, l, h int) (float64, error) {
	if err := q.check(); err != nil {
		return 0, err
	}
	if err := t.checkHead(l, h); err != nil {
		return 0, err
	}
	return t.measure(q, l, h, make([]float64, t.Sources)), nil
}

// measure returns a quantity of a head. buffer, [S], is overwritten.
func (t *Text) measure(q Quantity, l, h int, buffer []float64) float64 {
	sum := 0.0
	for i := range t.Targets {
		t.probability(buffer, l, h, i)
		row, self := buffer[:t.visible(i)], t.firstTarget()+i
		switch q {
		case SelfFraction:
			sum += indicator(rowmath.Largest(row) == self)
		case SelfContinuous:
			sum += row[self]
		case FirstFraction:
			sum += indicator(rowmath.Largest(row) == 0)
		case Concentration:
			sum += lead(row)
		}
	}
	return sum / float64(t.Targets)
}

func indicator(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// lead returns the largest probability minus the second largest one.
func lead(row []float64) float64 {
	first, second := 0.0, 0.0
	for _, p := range row {
		if p > first {
			first, second = p, first
		} else if p > second {
			second = p
		}
	}
	return first - second
}

// Lines has a quantity of every head of every layer, averaged over texts: Figures 4, 5 and 6. Each
// text counts as much as any other, whatever its length, as in the document. Set Quantity and call
// [Lines.Add] for each text.
type Lines struct {
	Quantity Quantity
	// Layers, Heads and Texts are L, H and how many texts were added.
	Layers, Heads, Texts int

	sum, together []float64 // [L,H] and [L]
}

// Add adds a text. It reads L·H·T·S probabilities, twice. It returns a usage error for an unknown
// quantity and an error for a text that has other layers or heads than the texts before it.
func (f *Lines) Add(t *Text) error {
	if err := f.Quantity.check(); err != nil {
		return err
	}
	if f.Texts == 0 {
		f.Layers, f.Heads = t.Layers, t.Heads
		f.sum, f.together = make([]float64, t.Layers*t.Heads), make([]float64, t.Layers)
	}
	if t.Layers != f.Layers || t.Heads != f.Heads {
		return pkg.Errorf("text %d has %d layers of %d heads; the texts before it have %d "+
			"of %d", f.Texts, t.Layers, t.Heads, f.Layers, f.Heads)
	}
	buffer := make([]float64, t.Sources)
	for l := range t.Layers {
		for h := range t.Heads {
			f.sum[l*t.Heads+h] += t.measure(f.Quantity, l, h, buffer)
		}
		f.together[l] += t.measure(f.Quantity, l, Together, buffer)
	}
	f.Texts++
	return nil
}

// At returns the mean of head h in layer l over the texts; h may be [Together]. It panics if no
// text was added or the index is out of range.
func (f *Lines) At(l, h int) float64 {
	if h == Together {
		return f.together[l] / float64(f.Texts)
	}
	return f.sum[l*f.Heads+h] / float64(f.Texts)
}

// Place is the value of one head in a layer.
type Place struct {
	Head  int
	Value float64
}

// Sorted returns the heads of layer l by rising value; among equals the lower number comes first.
// The index of a head in the result is its sort_idx: line k joins the entries k of all layers, so
// that no two lines cross.
func (f *Lines) Sorted(l int) []Place {
	all := make([]Place, f.Heads)
	for h := range all {
		all[h] = Place{h, f.At(l, h)}
	}
	slices.SortStableFunc(all, func(a, b Place) int { return cmp.Compare(a.Value, b.Value) })
	return all
}
