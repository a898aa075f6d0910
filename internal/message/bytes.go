package message

import "fmt"

// FormatBytes returns a number of bytes as people read it: "0.5 MB", "120 MB", "1.2 GB". The units
// are powers of ten.
func FormatBytes(n int64) string {
	if n < 1e8 {
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	if n < 1e9 {
		return fmt.Sprintf("%.0f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}
