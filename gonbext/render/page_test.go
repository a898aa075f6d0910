package render

import (
	"strings"
	"testing"
)

// TestWithoutRoom: a picture that has no room for its script says so and what to do, and as a page
// has it.
func TestWithoutRoom(t *testing.T) {
	layers := Layers{Heatmap: Heatmap{Explanation: sized(64, 512, 30), MaxBytes: 45_000}}
	heatmap := Heatmap{Explanation: sized(64, 512, 6), MaxBytes: 60_000}
	const says = "Clicks show nothing here: with its numbers the picture would be larger than "
	const toDo = " bytes. Save the picture as a page, which has more room, or take a shorter text."
	for limit, got := range map[string]string{
		"45,000": written(t, layers), "60,000": written(t, heatmap),
	} {
		if !strings.Contains(got, says+limit+toDo) || strings.Contains(got, "<script>") {
			t.Errorf("a picture of %s bytes does not say that clicks show nothing", limit)
		}
	}
	layers.MaxBytes, heatmap.MaxBytes = 0, 0
	for _, got := range []string{
		written(t, asPage(layers)), written(t, asPage(heatmap)),
	} {
		if strings.Contains(got, "Clicks show") || strings.Contains(got, "left out here") ||
			!strings.Contains(got, "<script>") {
			t.Errorf("a page of %d bytes lacks parts", len(got))
		}
	}
}
