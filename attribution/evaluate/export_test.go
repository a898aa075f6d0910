package evaluate

// What the tests outside the package see.
var (
	Correlations = correlations
	Flip         = flip
	NewAblations = newAblations
	Point        = point
)
