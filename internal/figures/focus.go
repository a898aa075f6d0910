package figures

var focused []Figure
