package message

import (
	"fmt"
	"time"
)

// Pace measures how many tokens come per second. The zero value has seen none.
type Pace struct {
	first, latest time.Time
	tokens        int
}

// paceAfter is how long a Pace watches before it says anything: the first tokens may wait for a
// graph that is compiled.
const paceAfter = 500 * time.Millisecond

// Add counts a token that came at a time.
func (p *Pace) Add(now time.Time) {
	if p.tokens == 0 {
		p.first = now
	}
	p.latest = now
	p.tokens++
}

// String returns ", 12 tokens/s", and "" while there is too little to say.
func (p Pace) String() string {
	took := p.latest.Sub(p.first)
	if p.tokens < 3 || took < paceAfter {
		return ""
	}
	rate := float64(p.tokens-1) / took.Seconds()
	if rate < 9.95 {
		return fmt.Sprintf(", %.1f tokens/s", rate)
	}
	return fmt.Sprintf(", %.0f tokens/s", rate)
}
