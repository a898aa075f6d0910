package explain

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/headwater-ml/headwater/internal/cli"
)

// The help of explain lists every flag once, those that people need first, in lines of 100 columns.
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
	for line := range strings.Lines(listed) {
		if len([]rune(line)) > 101 {
			t.Errorf("a line has more than 100 columns: %s", line)
		}
	}
}
