package chart_test

import (
	"encoding/csv"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/gonbext/render/chart"
	"github.com/headwater-ml/headwater/internal/testhelp"
)

var must = testhelp.Must // ends a test at an error

// The table of a chart has its numbers, a marker the names of its row and column, its rank and its
// columns, one of them with the text that its number refers to. A name that a coordinate has too is
// a column of its own, and any text of a user comes back.
func TestCSV(t *testing.T) {
	for _, c := range []struct {
		name  string
		chart chart.Chart
		want  string
	}{
		{"heatmap", charts()["heatmap"], "row,column,value\nis,the,0.9\nis,key,0.1\nis,the,\n"},
		{"layered", charts()["layered"], "layer,target,source,weight\n0,the,the,1\n" +
			"0,key,the,0.25\n0,key,key,0.75\n"},
		{"bars", charts()["bars"], "series,x,y\np,his,1\np,her,2\np,his,3\n"},
		{"histogram", charts()["histogram"], "series,x\na,0\na,1\na,4\nb,2\n"},
		{"ternary", charts()["ternary"], "series,x,y,c\na,1,0,0\na,0,1,1\n"},
		{"scatter", charts()["scatter"], "series,x,y,value,label\na,1,2,3,\"</script><script>\"\"\"\n"},
		{"markers", marked(), "row,column,value,series,symbol,bias,target\na,a,1,,,,\na,a,0,,,,\n" +
			"a,a,0.1,,,,\na,a,0.9,,,,\na,a,,Other,1,-0.1,\"1 b,\"\n"},
		{"names twice", chart.Chart{Kind: chart.Scatter, Series: []chart.Series{{
			X: []float64{1}, Y: []float64{2}, Columns: []chart.Column{
				{Name: "x", Values: []float64{3}}, {Name: "a\nb\"", Values: []float64{4}},
			},
		}}}, "series,x,y,x,\"a\nb\"\"\"\n,1,2,3,4\n"},
	} {
		var b strings.Builder
		must(t, c.chart.WriteCSV(&b))
		if diff := cmp.Diff(c.want, b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		lines, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
		must(t, err)
		if slices.ContainsFunc(lines, func(l []string) bool { return len(l) != len(lines[0]) }) {
			t.Errorf("%s: lines of different lengths: %q", c.name, lines)
		}
	}
	if err := (&chart.Chart{Kind: "pie"}).WriteCSV(os.Stdout); err == nil {
		t.Error("a chart of an unknown kind was written")
	}
}

// A chart of 120 pixels is a quarter as high as it is wide.
func TestProportion(t *testing.T) {
	if got := (&chart.Chart{Height: 120}).Proportion(); got != 0.25 { // of 480
		t.Errorf("proportion %v, want 0.25", got)
	}
}
