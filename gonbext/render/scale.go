package render

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
)

// scale maps the values of one method to colours and numbers. Its range is the same for every
// generated token, and the legend shows it.
type scale struct {
	unit    string
	percent bool // shares: numbers are percentages
	lift    bool // ratios: neutral at 1, colours by the logarithm
	signed  bool // neutral at 0, colours both ways
	// numbers in cells are in units of 10^power, a multiple of 3, so that small ranges are not all
	// 0.00
	power  int
	digits int     // after the decimal point: enough to tell values in the range apart
	limit  float64 // the value with the deepest colour, positive; for lifts the factor
}

// slack is the relative amount by which the largest value may exceed the limit. Rounding that
// differs between machines must not change the scale, as for a flow of 1 whose parts sum to
// 1.0000000000000002.
const slack = 1e-6

// newScale returns a scale for values of a quantity and its unit. Its limit is the smallest of 1,
// 2, 5 ×10^k that is not below the largest finite magnitude, and at most 1 for shares. For lifts it
// is a power of 2, at least 2. If there are no finite values, or all are nearly neutral (below
// 1e-300), the limit is 1, or 2 for lifts.
func newScale(unit string, of attribution.Quantity, values []float64) scale {
	s := scale{
		unit: unit, percent: of == attribution.Share, lift: of == attribution.Lift,
	}
	largest := 0.0
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		s.signed = s.signed || v < 0
		if s.lift && v > 0 {
			v = math.Abs(math.Log2(v))
		}
		largest = max(largest, math.Abs(v))
	}
	largest *= 1 - slack
	switch {
	case s.lift:
		s.limit = math.Exp2(min(max(math.Ceil(largest), 1), 10))
	case largest < 1e-300:
		s.limit = 1
	case s.percent && !s.signed:
		s.limit = min(nice(largest), 1)
	default:
		s.limit = nice(largest)
	}
	if !s.percent && !s.lift && s.limit < smallest {
		for ; s.scaled(s.limit) < 1-slack; s.power -= 3 {
		}
	}
	s.digits = digits(s)
	return s
}

// tight returns the scale with a limit closer to the largest value, for the few colours of HTML:
// the smallest number of two digits times 10^k that is not below it. Lifts keep theirs.
func (s scale) tight(values []float64) scale {
	largest := 0.0
	for _, v := range values {
		if a := math.Abs(v); !math.IsInf(a, 0) && !math.IsNaN(a) {
			largest = max(largest, a)
		}
	}
	largest *= 1 - slack
	if s.lift || !(largest >= 1e-300) {
		return s
	}
	unit, _ := strconv.ParseFloat("1e"+strconv.Itoa(int(math.Floor(math.Log10(largest)))-1), 64)
	if limit := math.Ceil(largest/unit) * unit; limit < s.limit {
		s.limit = limit
	}
	return s
}

// An outlier among rows is one whose largest value is more than outlier times that of all others.
// Up to an eighth of the rows, at least one, may be outliers.
const outlier = 4

// rowLimit returns the size up to which the values of rows are told apart by colours: without a
// limit, or twice the largest value of the rows that are no outliers. One row would otherwise pale
// all others.
func (p *picture) rowLimit(views ...*view) float64 {
	var maxima []float64
	for _, v := range views {
		if v.wrong != "" || v.result.Quantity == attribution.Lift {
			return math.Inf(1)
		}
		for t := range v.result.Shape[0] {
			if v.silent[t] == "" {
				maxima = append(maxima, v.largest(t, p.greySources(v, t)))
			}
		}
	}
	slices.Sort(maxima)
	n := len(maxima)
	if n < 3 {
		return math.Inf(1)
	}
	most, rest := maxima[n-1], maxima[n-1-max(n/8, 1)]
	if rest > 0 && most > outlier*rest {
		return 2 * rest
	}
	return math.Inf(1)
}

// cut returns values with sizes up to a limit.
func cut(values []float64, limit float64) []float64 {
	if math.IsInf(limit, 1) {
		return values
	}
	cut := slices.Clone(values)
	for i, x := range cut {
		cut[i] = min(max(x, -limit), limit) // NaN stays
	}
	return cut
}

// smallest is the limit below which numbers in cells get a unit such as ×10⁻³, and values an
// exponent.
const smallest = 0.1

// scaled returns v in the unit of the numbers in cells.
func (s scale) scaled(v float64) float64 {
	if s.percent {
		return 100 * v
	}
	return v * math.Pow10(-s.power)
}

// superscripts are the digits of exponents.
var superscripts = strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴",
	"5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹")

// times is the unit of numbers in cells: "×10⁻³", or nothing for 1.
func (s scale) times() string {
	if s.power == 0 {
		return ""
	}
	return "×10" + superscripts.Replace(strconv.Itoa(s.power))
}

// maxDigits is the largest number of digits after the decimal point in cells.
const maxDigits = 5

// digits returns how many digits after the decimal point the numbers in cells need: 1 for shares
// with a limit of 10 % or more, 2 for numbers with a limit of 1 or more, and one more for each
// power of ten below. Signed values have one more at limits of 1 and below, because their small
// differences matter.
func digits(s scale) int {
	base, least := 2, 0.5
	switch {
	case s.percent:
		base, least = 1, 5
	case s.signed:
		least = 1
	}
	d := base
	for limit := s.scaled(s.limit); limit < least && d < maxDigits; limit *= 10 {
		d++
	}
	return d
}

// upTo returns the scale with the digits that a row of signed values with this largest size needs.
// Another row may have values ten times as large, and every row must show which values are positive
// and which negative.
func (s scale) upTo(largest float64) scale {
	if s.signed && !s.percent && largest > s.limit*1e-6 && largest < s.limit {
		row := s
		row.limit = nice(largest * (1 - slack))
		s.digits = digits(row)
	}
	return s
}

// nice returns the smallest of 1, 2, 5 ×10^k that is at least x. x must be positive.
func nice(x float64) float64 {
	for k := math.Floor(math.Log10(x)); ; k++ {
		for _, d := range []float64{1, 2, 5} {
			v, _ := strconv.ParseFloat(strconv.FormatFloat(d, 'f', 0, 64)+"e"+strconv.Itoa(int(k)),
				64)
			if v >= x {
				return v
			}
		}
	}
}

// at returns the place of v on the scale, in [-1,1], or NaN.
func (s scale) at(v float64) float64 {
	if s.lift {
		if v < 0 {
			return math.NaN()
		}
		return min(max(math.Log2(v)/math.Log2(s.limit), -1), 1)
	}
	return min(max(v/s.limit, -1), 1)
}

// number formats v for a cell: shares as percentages without %, signed values with their sign.
func (s scale) number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "∞"
	case math.IsInf(v, -1):
		return "-∞"
	case s.percent:
		return s.plus(v) + fixed(s.scaled(v), s.digits)
	}
	x := s.scaled(v)
	text := fixed(x, s.digits)
	switch a := math.Abs(x); {
	case a >= 1e4:
		text = strconv.FormatFloat(x, 'e', 1, 64)
	case a >= 10:
		text = fixed(x, 1)
	}
	return s.plus(v) + text
}

// plus returns "+" for a positive number on a signed scale, unless the number is shown as 0.
func (s scale) plus(v float64) string {
	if s.signed && v > 0 && !s.vanishes(v) {
		return "+"
	}
	return ""
}

// vanishes reports whether v is shown as 0 in a cell.
func (s scale) vanishes(v float64) bool {
	return strings.Trim(fixed(s.scaled(v), s.digits), "-0.") == ""
}

// value formats v with its unit: "41.2 %", "×2.10", "0.37".
func (s scale) value(v float64) string {
	switch {
	case s.percent:
		return s.number(v) + " %"
	case s.lift:
		return "×" + s.number(v)
	case s.power != 0 && !math.IsNaN(v) && !math.IsInf(v, 0):
		return s.plus(v) + strconv.FormatFloat(v, 'g', 3, 64)
	}
	return s.number(v)
}

// sum formats a total or the value of a sink, which may be above the limit. Shares of 1 % and more
// have one digit.
func (s scale) sum(v float64) string {
	if s.percent && v >= 0.01 {
		return share(v)
	}
	return s.value(v)
}

// ends formats the range: the neutral or lowest value, and the limit.
func (s scale) ends() (low, high string) {
	switch {
	case s.lift:
		return "÷" + trim(s.limit), "×" + trim(s.limit)
	case s.signed && s.percent:
		return trim(-100*s.limit) + " %", trim(100*s.limit) + " %"
	case s.signed:
		return trim(-s.limit), trim(s.limit)
	case s.percent:
		return "0 %", trim(100*s.limit) + " %"
	}
	return "0", trim(s.limit)
}

// endsBeyond formats the range. beyond says that there are values beyond it: on a scale of both
// signs, both ends say so.
func (s scale) endsBeyond(beyond bool) (low, high string) {
	low, high = s.ends()
	if beyond {
		high += " and more"
		if s.diverging() {
			low += " and less"
		}
	}
	return low, high
}

// diverging reports whether both arms of the ramp are used.
func (s scale) diverging() bool { return s.lift || s.signed }

// trim formats a number without trailing zeros.
func trim(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// fixed formats v with d digits after the decimal point, or none from 100 on, and never as a
// negative zero.
func fixed(v float64, d int) string {
	if math.Abs(v) >= 99.95 {
		d = 0
	}
	s := strconv.FormatFloat(v, 'f', d, 64)
	if strings.Trim(s, "-0.") == "" {
		return strings.TrimPrefix(s, "-")
	}
	return s
}

// share formats a probability or a share: "93.1 %".
func share(v float64) string { return scale{percent: true, digits: 1}.value(v) }
