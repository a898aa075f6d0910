package message_test

import (
	"fmt"

	"github.com/headwater-ml/headwater/internal/message"
)

func ExampleKnownAre() {
	known := []string{"flow", "raw", "rollout"}
	fmt.Println(message.KnownAre("roll-out", known))
	fmt.Println(message.KnownAre("lime", known))
	// Output:
	// did you mean rollout? known are flow, raw, rollout
	// known are flow, raw, rollout
}

func ExampleSome() {
	names := []string{"flow", "raw", "rollout", "value-zeroing"}
	fmt.Println(message.Some(names, 3))
	fmt.Println(message.Some(names, 2))
	// Output:
	// flow, raw, rollout, value-zeroing
	// flow, raw and 2 more
}
