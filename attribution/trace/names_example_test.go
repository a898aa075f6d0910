package trace_test

import (
	"fmt"

	"github.com/headwater-ml/headwater/attribution/trace"
)

func ExampleKnownAre() {
	known := []string{"flow", "raw", "rollout"}
	fmt.Println(trace.KnownAre("roll-out", known))
	fmt.Println(trace.KnownAre("lime", known))
	// Output:
	// did you mean rollout? known are flow, raw, rollout
	// known are flow, raw, rollout
}
