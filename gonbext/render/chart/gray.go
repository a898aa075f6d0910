package chart

import "fmt"

// minGray is the difference of lightness, CIE L*, from which two areas side by side are told apart
// on a printed page.
const minGray = 8

// Dashes is how many patterns of dashes, and shapes of points, drawings tell series apart with.
const Dashes = 6

// GrayWarnings returns a sentence for each pair of series that cannot be told apart where the chart
// is printed in grey. Lines and points also differ in dashes and shapes, so only bars and
// histograms of many series are concerned, and lines that have the same dash.
func (c *Chart) GrayWarnings() []string {
	var warnings []string
	n := len(c.Series)
	if c.Ordered() || c.Colored() {
		return nil // an order is read, not a single series
	}
	for i := range n {
		for k := range i {
			areas := c.Kind == Bars || c.Kind == Histogram
			if !areas && i%Dashes != k%Dashes {
				continue
			}
			a, b := c.SeriesColor(k).Gray(), c.SeriesColor(i).Gray()
			if a-b < minGray && b-a < minGray {
				warnings = append(warnings, fmt.Sprintf(
					"%q and %q cannot be told apart in grey; show fewer series",
					c.Series[k].Name, c.Series[i].Name))
			}
		}
	}
	return warnings
}
