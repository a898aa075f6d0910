package models

// What the tests outside the package see.
var OpenCompileTimes = openCompileTimes

type CompileTimes = compileTimes
