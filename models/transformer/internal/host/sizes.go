package host

import "math"

// SlotStep is the smallest number of slots that a cache or a prompt grows by where every new size
// means one more graph to compile.
const SlotStep = 32

// MostSlots is the largest number of slots that is rounded up: more than any memory holds, and so
// few that no size overflows.
const MostSlots = math.MaxInt / 32

// Bucket rounds n up to one of few sizes, so that few graphs are compiled: a multiple of SlotStep,
// and of a quarter of the power of two below n where that is more. At most a quarter of a bucket
// is padding, and texts of up to a thousand tokens meet about a dozen sizes.
func Bucket(n int) int { return stepped(n, SlotStep, 8) }

// PairBucket is bucket with smaller steps, for caches over which every token costs a pass for each
// slot: padding is at most an eighth or 16 slots.
func PairBucket(n int) int { return stepped(n, SlotStep/2, 16) }

// stepped rounds n up to a multiple of a step, which doubles until n has at most so many of them.
func stepped(n, step, most int) int {
	n = min(n, MostSlots)
	for most*step < n {
		step *= 2
	}
	return RoundUp(n, step)
}

// RoundUp returns the smallest multiple of step that is at least n.
func RoundUp(n, step int) int { return (n + step - 1) / step * step }

// Evenly returns the size of equal parts of n, as few as there can be of at most that size. Only
// the last part may be smaller.
func Evenly(n, most int) int {
	parts := (n + most - 1) / most
	return (n + parts - 1) / parts
}

// SourceSlots rounds n up to 2ⁿ or 3·2ⁿ times least. Every size is one more graph to compile, and
// at most a third of the sources is padding.
func SourceSlots(n, least int) int {
	size := least
	for size < n {
		if size+size/2 >= n {
			return size + size/2
		}
		size *= 2
	}
	return size
}
