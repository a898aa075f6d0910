package chart

// Column is one more number of each point, which the table of the chart has; see [Chart.WriteCSV].
type Column struct {
	Name string
	// Values has a number for each point; NaN is left empty.
	Values []float64
	// Named reports whether the numbers are indices of [Chart.Names], whose texts are shown.
	Named bool
}
