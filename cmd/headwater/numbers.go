package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/pflag"
)

// The ranges of flags that are numbers. Where an option of the library is behind a flag, the range is
// the library's, and TestRanges holds both together.
const (
	// A prompt has at most 1 MiB of text, so no token, head or layer has a larger number.
	maxIndex        = 1_000_000
	maxTokens       = 4096
	maxAlternatives = 1000
	maxTop          = 1_000_000
	maxSteps        = 1024
	maxSamples      = 16384
	maxBatch        = 1024
	maxTopK         = 1_000_000
	maxTemperature  = 100
	maxThreshold    = 1e6
)

// wholeFlag adds a flag that takes a whole number from least to most. The usage gets the range and,
// unless it is empty, what the number is by default.
func wholeFlag(f *pflag.FlagSet, p *int, name string, least, most int, usage, byDefault string) {
	usage = fmt.Sprintf("%s, from %d to %d%s", usage, least, most, defaultIs(byDefault))
	f.Func(name, usage, func(s string) error { return setWhole(p, s, least, most) })
}

// setWhole reads a whole number from least to most.
func setWhole(p *int, s string, least, most int) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most {
		return fmt.Errorf("want a whole number from %d to %d", least, most)
	}
	*p = n
	return nil
}

// setIndex reads a whole number from 0 into a new place.
func setIndex(p **int, s string) error {
	n := 0
	err := setWhole(&n, s, 0, maxIndex)
	if err == nil {
		*p = &n
	}
	return err
}

// realFlag adds a flag that takes a number from 0 to most, or to below most.
func realFlag(
	f *pflag.FlagSet, p *float64, name string, most float64, below bool, usage, byDefault string,
) {
	limits := fmt.Sprintf("from 0 to %.0f", most)
	if below {
		limits = fmt.Sprintf("from 0 to below %.0f", most)
	}
	f.Func(name, usage+", "+limits+defaultIs(byDefault), func(s string) error {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil || !(x >= 0 && x <= most) || below && x == most {
			return fmt.Errorf("want a number %s", limits)
		}
		*p = x
		return nil
	})
}

// defaultIs is the end of a usage.
func defaultIs(what string) string {
	if what == "" {
		return ""
	}
	return " (default " + what + ")"
}
