// Package message words errors: names, lists and sizes as every package of the project writes
// them. Names come from users and files, and may be any text.
package message

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// maxNear is the largest number of bytes of a name that is compared with others. The time grows
// with the product of the lengths, and longer names are not typing errors.
const maxNear = 64

// Nearest returns at most two known names that are most similar to an unknown name: what the user
// probably meant. Both are equally similar, and in the order of known, which is not modified. The
// result is empty if no name is similar.
//
// Case does not count, and _ and spaces are read as hyphens. Two names are similar if at most one
// typing error for every three letters of the shorter name turns one into the other. An error is a
// letter too many, a missing letter, a wrong one, or two neighbours swapped (optimal string
// alignment, Boytsov 2011, §2.1). If there is no such name, a name is similar if it begins with the
// unknown one, which must have three letters or more.
func Nearest(name string, known []string) []string {
	if len(name) > maxNear {
		return nil
	}
	const most = 2
	name = plain(name)
	var near []string
	best := len(name)/3 + 1
	for _, k := range known {
		d := slips(name, plain(k), min(best, min(len(name), len(k))/3))
		if d < 0 {
			continue
		}
		if d < best {
			best, near = d, nil
		}
		if len(near) < most && !slices.Contains(near, k) {
			near = append(near, k)
		}
	}
	if near != nil || len(name) < 3 {
		return near
	}
	for _, k := range known {
		if len(near) < most && strings.HasPrefix(plain(k), name) && !slices.Contains(near, k) {
			near = append(near, k)
		}
	}
	return near
}

// KnownAre returns the end of a message about an unknown name: "did you mean rollout? known are
// flow, rollout". The question is missing if no known name is similar; see [Nearest].
func KnownAre[T ~string](name T, known []T) string {
	names := Names(known)
	return DidYouMean(string(name), names) + "known are " + strings.Join(names, ", ")
}

// Names returns names of a type of their own as strings.
func Names[T ~string](all []T) []string {
	names := make([]string, len(all))
	for i, name := range all {
		names[i] = string(name)
	}
	return names
}

// DidYouMean returns "did you mean rollout? " with the names that are [Nearest], and "" if there
// are none.
func DidYouMean(name string, known []string) string {
	near := Nearest(name, known)
	if near == nil {
		return ""
	}
	return "did you mean " + strings.Join(near, " or ") + "? "
}

// plain returns a name in lower case, with hyphens for _ and spaces.
func plain(name string) string {
	return strings.NewReplacer("_", "-", " ", "-").Replace(strings.ToLower(name))
}

// slips returns how many typing errors turn a into b, or -1 if there are more than most.
func slips(a, b string, most int) int {
	if len(a)-len(b) > most || len(b)-len(a) > most {
		return -1
	}
	// Three rows of the table of distances: before[j], row[j] and next[j] are those of the first
	// i-2, i-1 and i letters of a and the first j of b.
	before, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row, next = row, next, before
	}
	if row[len(b)] > most {
		return -1
	}
	return row[len(b)]
}

// Quote returns a name in quotes, and cut if it is long.
func Quote(s string) string {
	const limit = 60
	if len(s) > limit {
		return strconv.QuoteToASCII(s[:limit]) + "…"
	}
	return strconv.Quote(s)
}

// List joins names by commas.
func List(names []string) string { return strings.Join(names, ", ") }

// Some joins the first names by commas: "a, b, c and 2 more", or all if they are one more at most.
func Some(names []string, most int) string {
	if len(names) <= most+1 {
		return List(names)
	}
	return fmt.Sprintf("%s and %d more", List(names[:most]), len(names)-most)
}

// WholeNumber returns the whole number that a text is, such as 17 or 17.0: data frames write all
// numbers of a column with a point if one is missing. ok is false for any other text, and for more
// than 2^53 with a point, where a float64 does not have every whole number.
func WholeNumber(text string) (n int64, ok bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || x != math.Trunc(x) || math.Abs(x) > 1<<53 {
		return 0, false
	}
	return int64(x), true
}

// OutOfRange returns what is wrong with a number that must be in [1,most], or 0 for a default that
// zero names. It returns "" if nothing is.
func OutOfRange(name string, n, most int, zero string) string {
	if n >= 0 && n <= most {
		return ""
	}
	return fmt.Sprintf("%s %d; it must be in [1,%d], or 0 for %s", name, n, most, zero)
}
