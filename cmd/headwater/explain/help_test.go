package explain

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/cli"
)

// The help of explain lists every flag once, those that people need first, and what --set sets, in
// lines of 100 columns.
func TestExplainHelp(t *testing.T) {
	help := headwater.Output(t, "explain", "--help")
	_, listed, _ := strings.Cut(help, "\nFlags:\n")
	if !strings.HasPrefix(listed, "  -m, --model") {
		t.Errorf("the first flag is not the model:\n%s", listed)
	}
	explainCommand(&cli.Kit{}).Flags().VisitAll(func(f *pflag.Flag) {
		line := regexp.MustCompile(`(?m)^  (-.,|   ) --` + f.Name + `( |$)`)
		if n := len(line.FindAllString(listed, -1)); n != 1 {
			t.Errorf("--%s is there %d times", f.Name, n)
		}
	})
	_, settings, _ := strings.Cut(listed, "\nWhat --set sets:\n")
	for _, row := range attribution.OptionTable() {
		n := strings.Count("\n"+settings, "\n  "+row.Key+" ")
		if row.Key != "" && n != 1 {
			t.Errorf("%s is there %d times", row.Key, n)
		}
	}
	const lift = "\n  lift               divide by what uniform attention would give at the same place; " +
		"for flow,\n                     flow-normalized, raw, rollout\n"
	if !strings.Contains(settings, lift) {
		t.Errorf("lift has another help:\n%s", settings)
	}
	for line := range strings.Lines(listed) {
		if len([]rune(line)) > 101 {
			t.Errorf("a line has more than 100 columns: %s", line)
		}
	}
}
