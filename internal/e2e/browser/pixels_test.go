package browser

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/headwater-ml/headwater/internal/e2e/chromium"
)

// saveScreenshot writes what the window shows as keepScreenshot does.
func saveScreenshot(t *testing.T, b *chromium.Browser, name string) {
	t.Helper()
	if os.Getenv("HEADWATER_SCREENSHOTS") != "" {
		keepScreenshot(t, b.Screenshot(t, nil), name)
	}
}

// keepScreenshot writes a screenshot into the folder that HEADWATER_SCREENSHOTS names, if it does.
func keepScreenshot(t *testing.T, shot []byte, name string) {
	t.Helper()
	dir := os.Getenv("HEADWATER_SCREENSHOTS")
	if dir == "" {
		return
	}
	must(t, os.MkdirAll(dir, 0o700))
	must(t, os.WriteFile(filepath.Join(dir, name+".png"), shot, 0o600))
}

// decoded returns the pixels of a screenshot.
func decoded(t *testing.T, shot []byte) *image.RGBA {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(shot))
	must(t, err)
	if rgba, ok := img.(*image.RGBA); ok {
		return rgba
	}
	rgba := image.NewRGBA(img.Bounds())
	draw.Draw(rgba, rgba.Rect, img, rgba.Rect.Min, draw.Src)
	return rgba
}

// painted returns the share of the pixels of a box that do not have its most frequent colour.
func painted(img *image.RGBA, box image.Rectangle) float64 {
	box = box.Intersect(img.Rect)
	if box.Empty() {
		return 0
	}
	counts := map[uint32]int{}
	most := 0
	for y := box.Min.Y; y < box.Max.Y; y++ {
		row := img.Pix[img.PixOffset(box.Min.X, y):][:4*box.Dx()]
		// Neighbours often have the same colour, so pixels are counted in runs.
		for len(row) > 0 {
			colour, n := binary.NativeEndian.Uint32(row), 0
			for ; len(row) > 0 && binary.NativeEndian.Uint32(row) == colour; n++ {
				row = row[4:]
			}
			counts[colour] += n
			most = max(most, counts[colour])
		}
	}
	all := box.Dx() * box.Dy()
	return float64(all-most) / float64(all)
}

// differing returns the share of the pixels of two images of the same size that differ: one of them
// is apart by more than most in a channel from the pixel at its place in the other image and from
// all around that one. Text that Chromium draws a pixel lower, as it does in a layer of its own, is
// thus the same. All pixels of images of different sizes differ.
func differing(a, b *image.RGBA, most int) float64 {
	if a.Rect.Size() != b.Rect.Size() {
		return 1
	}
	differ := 0
	for y := range a.Rect.Dy() {
		for x := range a.Rect.Dx() {
			at := image.Pt(x, y)
			p := a.RGBAAt(a.Rect.Min.X+x, a.Rect.Min.Y+y)
			q := b.RGBAAt(b.Rect.Min.X+x, b.Rect.Min.Y+y)
			if !alike(p, q, most) && !(near(p, b, at, most) && near(q, a, at, most)) {
				differ++
			}
		}
	}
	return float64(differ) / float64(a.Rect.Dx()*a.Rect.Dy())
}

// near reports whether an image has a pixel like c at a place, counted from its corner, or beside
// it.
func near(c color.RGBA, img *image.RGBA, at image.Point, most int) bool {
	at = at.Add(img.Rect.Min)
	around := image.Rect(at.X-1, at.Y-1, at.X+2, at.Y+2).Intersect(img.Rect)
	for y := around.Min.Y; y < around.Max.Y; y++ {
		for x := around.Min.X; x < around.Max.X; x++ {
			if alike(c, img.RGBAAt(x, y), most) {
				return true
			}
		}
	}
	return false
}

func alike(p, q color.RGBA, most int) bool {
	return apart(p.R, q.R) <= most && apart(p.G, q.G) <= most && apart(p.B, q.B) <= most
}

func apart(a, b uint8) int { return max(int(a), int(b)) - min(int(a), int(b)) }

// TestPixels makes sure that a blank box and a changed picture are noticed.
func TestPixels(t *testing.T) {
	white := image.NewRGBA(image.Rect(0, 0, 10, 4))
	draw.Draw(white, white.Rect, image.White, image.Point{}, draw.Src)
	drawn := image.NewRGBA(white.Rect)
	copy(drawn.Pix, white.Pix)
	drawn.SetRGBA(3, 1, color.RGBA{255, 255, 190, 255}) // 65 from white
	drawn.SetRGBA(9, 3, color.RGBA{191, 191, 191, 255}) // 64 from white
	if got := painted(white, white.Rect); got != 0 {
		t.Errorf("of a white box %v is painted, want 0", got)
	}
	if got := painted(drawn, white.Rect); got != 2./40 {
		t.Errorf("of a box with two coloured pixels %v is painted, want %v", got, 2./40)
	}
	if got := painted(drawn, image.Rect(2, 1, 4, 2)); got != 1./2 {
		t.Errorf("of a part of the box %v is painted, want 1/2", got)
	}
	if got := painted(drawn, image.Rect(10, 4, 20, 8)); got != 0 {
		t.Errorf("outside of the window %v is painted, want 0", got)
	}
	if got := differing(white, drawn, 64); got != 1./40 {
		t.Errorf("by more than 64 differs %v, want %v", got, 1./40)
	}
	for x, want := range map[int]float64{4: 0, 5: 2. / 40} {
		moved := image.NewRGBA(white.Rect)
		copy(moved.Pix, white.Pix)
		moved.SetRGBA(x, 1, drawn.RGBAAt(3, 1))
		moved.SetRGBA(9, 3, drawn.RGBAAt(9, 3))
		if got := differing(drawn, moved, 64); got != want {
			t.Errorf("of a pixel moved to column %d %v differs, want %v", x, got, want)
		}
	}
	if got := differing(white, image.NewRGBA(image.Rect(0, 0, 4, 10)), 64); got != 1 {
		t.Errorf("of images of different sizes %v differs, want 1", got)
	}
}
