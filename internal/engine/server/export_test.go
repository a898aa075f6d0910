package server

import "time"

// RestAfter changes how long an engine without work waits until it rests, and returns what undoes
// that.
func RestAfter(d time.Duration) (undo func()) {
	before := restAfter
	restAfter = d
	return func() { restAfter = before }
}
