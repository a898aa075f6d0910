package message

import (
	"errors"
	"fmt"
	"strconv"
)

// Count returns how many of something there are: "1 token", "2 tokens". The plural of the noun ends
// in s.
func Count[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// IsOrAre is the verb of so many things.
func IsOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// ParseSwitch reads whether a switch is on: on or off, true or false, or what [strconv.ParseBool]
// reads besides. The error names what is wanted.
func ParseSwitch(text string) (bool, error) {
	on, err := strconv.ParseBool(text)
	switch {
	case text == "on" || text == "off":
		return text == "on", nil
	case err != nil:
		return false, errors.New("want true or false")
	}
	return on, nil
}
