package chart

var SeriesColor = seriesColor // for tests
