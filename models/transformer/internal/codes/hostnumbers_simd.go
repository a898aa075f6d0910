//go:build amd64 && goexperiment.simd

package codes

import "simd/archsimd"

// vectors is whether the processor has what the functions of this file need.
var vectors = func() bool {
	has := archsimd.X86.AVX2() && archsimd.X86.FMA()
	if has {
		unpack, dot, clearRegisters = unpackVectors, dotVectors, archsimd.ClearAVXUpperBits
	}
	return has
}()

// unpackVectors is [unpackPlain] with four numbers at a time. Bits are moved in pairs of bytes; the
// masks leave those of each byte. Instructions on eight numbers would use the upper halves of the
// registers, and those on single numbers between them would then take a hundred times as long on
// some processors; see [Settled].
func unpackVectors(dst *[32]float32, low, high *[32]uint8, u *unpacking) {
	a, b := u.planes[0], u.planes[1]
	lowMask, highMask := archsimd.BroadcastUint8x16(a.mask), archsimd.BroadcastUint8x16(b.mask)
	for half := range 2 {
		codes := archsimd.LoadUint8x16Slice(low[half*16:]).AsUint16x8().
			ShiftAllRight(uint64(a.shift)).AsUint8x16().And(lowMask)
		if b.mask != 0 {
			upper := archsimd.LoadUint8x16Slice(high[half*16:]).AsUint16x8().
				ShiftAllRight(uint64(b.shift)).AsUint8x16().And(highMask)
			codes = codes.Or(upper.AsUint16x8().ShiftAllLeft(uint64(b.over)).AsUint8x16())
		}
		scale := archsimd.BroadcastFloat32x4(u.scale[half])
		least := archsimd.BroadcastFloat32x4(u.least[half] - u.zero*u.scale[half])
		to := (*[16]float32)(dst[half*16:])
		codes.ExtendLo4ToUint32().AsInt32x4().ConvertToFloat32().MulAdd(scale, least).
			Store((*[4]float32)(to[0:]))
		codes.ConcatShiftBytesRight(4, codes).ExtendLo4ToUint32().AsInt32x4().ConvertToFloat32().
			MulAdd(scale, least).Store((*[4]float32)(to[4:]))
		codes.ConcatShiftBytesRight(8, codes).ExtendLo4ToUint32().AsInt32x4().ConvertToFloat32().
			MulAdd(scale, least).Store((*[4]float32)(to[8:]))
		codes.ConcatShiftBytesRight(12, codes).ExtendLo4ToUint32().AsInt32x4().ConvertToFloat32().
			MulAdd(scale, least).Store((*[4]float32)(to[12:]))
	}
	archsimd.ClearAVXUpperBits()
}

// dotVectors is [dot] with 32 numbers at a time. Between its first instruction on eight numbers and
// its last there are none on single ones.
func dotVectors(x, y []float32) float32 {
	var a, b, c, d archsimd.Float32x8
	for ; len(x) >= 32 && len(y) >= 32; x, y = x[32:], y[32:] {
		u, v := (*[32]float32)(x), (*[32]float32)(y)
		a = archsimd.LoadFloat32x8((*[8]float32)(u[0:])).MulAdd(
			archsimd.LoadFloat32x8((*[8]float32)(v[0:])), a)
		b = archsimd.LoadFloat32x8((*[8]float32)(u[8:])).MulAdd(
			archsimd.LoadFloat32x8((*[8]float32)(v[8:])), b)
		c = archsimd.LoadFloat32x8((*[8]float32)(u[16:])).MulAdd(
			archsimd.LoadFloat32x8((*[8]float32)(v[16:])), c)
		d = archsimd.LoadFloat32x8((*[8]float32)(u[24:])).MulAdd(
			archsimd.LoadFloat32x8((*[8]float32)(v[24:])), d)
	}
	var sums [8]float32
	a.Add(b).Add(c.Add(d)).Store(&sums)
	archsimd.ClearAVXUpperBits()
	return sums[0] + sums[4] + (sums[1] + sums[5]) + (sums[2] + sums[6]) + (sums[3] + sums[7])
}
