package message

import "fmt"

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
