package main

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
)

// numeric lists values for flags that take a number: some are not numbers, and some are too large
// for any flag.
var numeric = []string{
	"", "x", "1x", "NaN", "nan", "Inf", "-Inf", "-1", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
	"1e308", "1e400", strings.Repeat("9", 400),
}

// Every flag that takes a number gives its range in its help and in its refusal. This test finds a
// new flag without a range.
func TestNumbersHaveRanges(t *testing.T) {
	// Flags that take a number in another form, and the words that say so.
	others := map[string]string{
		"set heads": "number of a head, from 0 to 1000000", "set layers": "from 0 to 1000000", "set per-head": "from 0 to 1000000",
		"position": "from 0 to 1000000", "set residual": "from 0 to 1", "cut": "from 0 to 1000000", "ids": "from 0 to 2147483647",
		"by": "counted from 0", "max-memory": "such as 8GB",
	}
	seen := map[string]bool{}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			visit(sub)
		}
		if c.Name() == "serve" {
			return // another program sets its flags
		}
		try := func(flag, setting, usage, kind string) {
			name := strings.TrimSuffix(flag+" "+setting, " ")
			want, other := others[name]
			if !other && !strings.Contains(usage, ", from ") {
				switch kind {
				case "int", "int64", "uint64", "float64", "duration":
					t.Errorf("%s --%s is a number without a range in its help: %s", c.Name(), name,
						usage)
				}
				return
			}
			seen[name] = true
			if !other {
				want = "from "
			}
			values := []string{"x", "NaN", strings.Repeat("9", 400)}
			if name == "token" {
				values = values[2:] // others are words of the answer
			}
			for _, value := range values {
				if setting != "" {
					value = setting + "=" + value
				}
				if err := c.Flags().Set(flag, value); err == nil {
					t.Errorf("%s --%s %.20s is taken", c.Name(), flag, value)
				} else if text := c.FlagErrorFunc()(c, err).Error(); !strings.Contains(text,
					want) || len(text) > 400 {
					t.Errorf("%s --%s %.20s: %s; want %q", c.Name(), flag, value, text, want)
				}
			}
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "set" {
				try(f.Name, "", f.Usage, f.Value.Type())
				return
			}
			for _, row := range attribution.OptionTable() {
				if row.Key != "" && strings.Contains(c.UsageString(), "\n  "+row.Key+" ") {
					try("set", row.Key, row.Usage(), "")
				}
			}
		})
	}
	visit(cli.Root(&cli.Kit{}, headwater))
	for name := range others {
		if !seen[name] {
			t.Errorf("there is no --%s", name)
		}
	}
	if len(seen) < 25 {
		t.Errorf("%d flags are numbers; the others were not found", len(seen))
	}
}

// No number makes a command panic, and none is misread as another value.
func TestExtremeNumbers(t *testing.T) {
	var cases []clitest.Refusal
	for _, flag := range []string{
		"top", "width", "max-tokens", "alternatives", "temperature", "set top-k", "set top-p", "seed", "set threshold",
		"set discard", "set residual", "set per-head", "set heads", "set layers", "set steps", "set samples",
		"set batch", "position", "max-memory", "by",
	} {
		for _, value := range numeric {
			if flag == "seed" &&
				(value == "9223372036854775807" || value == "9223372036854775808") {
				continue // every whole number is valid
			}
			cases = append(cases, clitest.Refusal{
				flag + " " + fmt.Sprintf("%.12s", value),
				[]string{
					"explain", "--backend", "go", "-o", "OUT",
					"--" + strings.Replace(flag, " ", "=", 1) + "=" + value, "a",
				},
				"", cli.StatusUsage, "--" + flag + " " + fmt.Sprintf("%.60q", value) + ": ",
			})
		}
	}
	headwater.CheckRefusals(t, cases)
	// The largest numbers that are accepted.
	for flag, most := range map[string]int{"top": cli.MaxTop, "width": 10000, "alternatives": 1000} {
		headwater.Output(t, "explain", "--backend", "go", "--max-tokens", "1", "--methods",
			"raw", "--"+flag, strconv.Itoa(most), clitest.Prompt)
	}
}
