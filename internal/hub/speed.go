package hub

import (
	"fmt"
	"time"
)

const (
	// defaultMinSpeed is a fifth of the speed of a telephone line. At this speed a model of 100 MB
	// takes a day.
	defaultMinSpeed = 1024
	// speedWindow is the time over which the speed is averaged, so that a short pause does not end
	// a download.
	speedWindow = time.Minute
)

// pace checks that one download of a file does not fall below the lowest speed.
type pace struct {
	least  int64 // bytes a second; negative: no limit
	window time.Duration
	since  time.Time // when the window began
	bytes  int64     // in this window
}

// slow is the error for a download below the lowest speed.
type slow struct {
	bytes  int64 // that were received
	window time.Duration
	least  int64
}

func (e *slow) Error() string {
	return fmt.Sprintf("%.1f bytes a second came in the last %v, the limit is %d",
		float64(e.bytes)/e.window.Seconds(), e.window.Round(time.Millisecond), e.least)
}

// add counts n bytes that have come until now. At the end of a window with too few bytes it returns
// a *slow.
func (p *pace) add(n int, now time.Time) error {
	if p.least < 0 {
		return nil
	}
	p.bytes += int64(n)
	took := now.Sub(p.since)
	if took < p.window {
		return nil
	}
	if float64(p.bytes) < float64(p.least)*took.Seconds() {
		return &slow{bytes: p.bytes, window: took, least: p.least}
	}
	p.since, p.bytes = now, 0
	return nil
}

// enough returns whether so many bytes in that time are at least the lowest speed.
func (c *client) enough(bytes int64, took time.Duration) bool {
	return float64(bytes) >= float64(c.opts.MinSpeed)*took.Seconds()
}

// tooSlow returns the error for a download that was ended. Its bytes are kept.
func (c *client) tooSlow(p *part, host string, err *slow) error {
	return pkg.Errorf("%s %s: %s is too slow: %w: %d of %d bytes are kept; try again later "+
		"to continue from there, or set %s to fewer bytes a second (0: no limit)",
		c.ref, p.r.file, host, err, p.n, p.r.size, speedVariable)
}
