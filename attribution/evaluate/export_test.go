package evaluate

// What the tests outside the package see.
var (
	Agree        = agree
	Correlations = correlations
	Flip         = flip
	NewAblations = newAblations
	Point        = point
)
