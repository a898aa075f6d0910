//go:build amd64 && goexperiment.simd

package transformer

import "simd/archsimd"

func init() { // if the processor has what the functions of this file need
	if archsimd.X86.AVX2() && archsimd.X86.FMA() {
		unpack, dot, multiplyTile = unpackVectors, dotVectors, multiplyTileVectors
		clearRegisters = archsimd.ClearAVXUpperBits
		if archsimd.X86.AVX512() {
			multiplyTile = multiplyTileWide
		}
	}
}

// unpackVectors is [unpackPlain] with four numbers at a time. Bits are moved in pairs of bytes; the
// masks leave those of each byte. Instructions on eight numbers would use the upper halves of the
// registers, and those on single numbers between them would then take a hundred times as long on
// some processors; see [settled].
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

// multiplyTileVectors is [multiplyTile] with eight rows of activations in a register.
func multiplyTileVectors(y *[tileRows * tileColumns]float32, x, w []float32) {
	in := len(w) / tileColumns
	w0, w1, w2, w3 := w[:in], w[in:][:in], w[2*in:][:in], w[3*in:][:in]
	for first := 0; first < tileRows; first += halfTile {
		var a, b, c, d, a8, b8, c8, d8 archsimd.Float32x8
		for k := range w0 {
			if len(x) < halfTile {
				break // never: with it the compiler checks nothing else
			}
			u := archsimd.LoadFloat32x8((*[8]float32)(x[0:]))
			v := archsimd.LoadFloat32x8((*[8]float32)(x[8:]))
			m := archsimd.BroadcastFloat32x8(w0[k])
			a, a8 = u.MulAdd(m, a), v.MulAdd(m, a8)
			m = archsimd.BroadcastFloat32x8(w1[k])
			b, b8 = u.MulAdd(m, b), v.MulAdd(m, b8)
			m = archsimd.BroadcastFloat32x8(w2[k])
			c, c8 = u.MulAdd(m, c), v.MulAdd(m, c8)
			m = archsimd.BroadcastFloat32x8(w3[k])
			d, d8 = u.MulAdd(m, d), v.MulAdd(m, d8)
			x = x[halfTile:]
		}
		for i, sums := range [...][2]archsimd.Float32x8{{a, a8}, {b, b8}, {c, c8}, {d, d8}} {
			sums[0].Store((*[8]float32)(y[i*tileRows+first:]))
			sums[1].Store((*[8]float32)(y[i*tileRows+first+8:]))
		}
	}
	archsimd.ClearAVXUpperBits()
}

// multiplyTileWide is [multiplyTile] with 16 rows of activations in a register.
func multiplyTileWide(y *[tileRows * tileColumns]float32, x, w []float32) {
	in := len(w) / tileColumns
	w0, w1, w2, w3 := w[:in], w[in:][:in], w[2*in:][:in], w[3*in:][:in]
	var a, b, c, d, a16, b16, c16, d16 archsimd.Float32x16
	x16 := x[in*halfTile:]
	for k := range w0 {
		if len(x) < halfTile || len(x16) < halfTile {
			break
		}
		u := archsimd.LoadFloat32x16((*[16]float32)(x))
		v := archsimd.LoadFloat32x16((*[16]float32)(x16))
		m := archsimd.BroadcastFloat32x16(w0[k])
		a, a16 = u.MulAdd(m, a), v.MulAdd(m, a16)
		m = archsimd.BroadcastFloat32x16(w1[k])
		b, b16 = u.MulAdd(m, b), v.MulAdd(m, b16)
		m = archsimd.BroadcastFloat32x16(w2[k])
		c, c16 = u.MulAdd(m, c), v.MulAdd(m, c16)
		m = archsimd.BroadcastFloat32x16(w3[k])
		d, d16 = u.MulAdd(m, d), v.MulAdd(m, d16)
		x, x16 = x[halfTile:], x16[halfTile:]
	}
	for i, sums := range [...][2]archsimd.Float32x16{{a, a16}, {b, b16}, {c, c16}, {d, d16}} {
		sums[0].Store((*[16]float32)(y[i*tileRows:]))
		sums[1].Store((*[16]float32)(y[i*tileRows+16:]))
	}
	archsimd.ClearAVXUpperBits()
}
