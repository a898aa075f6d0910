package chart

var OnDark, SeriesColor = onDark, seriesColor // for tests
