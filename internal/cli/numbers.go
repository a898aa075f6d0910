package cli

import (
	"fmt"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/headwater-ml/headwater/attribution"
)

// Limits of flags that are no option of the library.
const (
	MaxIndex    = attribution.MaxIndex // of a token
	MaxTop      = 1_000_000
	MaxRecorded = 4096 // tokens that a recording generates
)

// WholeFlag adds a flag that takes a whole number from least to most. The usage gets the range and,
// unless it is empty, what the number is by default.
func WholeFlag(f *pflag.FlagSet, p *int, name string, least, most int, usage, byDefault string) {
	usage = fmt.Sprintf("%s, from %d to %d%s", usage, least, most, defaultIs(byDefault))
	f.Func(name, usage, func(s string) error { return SetWhole(p, s, least, most) })
}

// SetWhole reads a whole number from least to most.
func SetWhole(p *int, s string, least, most int) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most {
		return fmt.Errorf("want a whole number from %d to %d", least, most)
	}
	*p = n
	return nil
}

// defaultIs is the end of a usage.
func defaultIs(what string) string {
	if what == "" {
		return ""
	}
	return " (default " + what + ")"
}
