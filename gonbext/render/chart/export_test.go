package chart

var SeriesColor = seriesColor // for tests

// Published is publishedNames.
var Published = publishedNames
