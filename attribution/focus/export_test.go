package focus

// What the tests outside the package see.
var Quantities = quantities
