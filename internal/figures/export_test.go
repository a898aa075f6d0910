package figures

// CompareTo compares with other records than those of the program.
var CompareTo = compare
