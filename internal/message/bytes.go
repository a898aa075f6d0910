package message

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// FormatBytes returns a number of bytes as people read it: "12 bytes", "1.5 kB", "0.5 MB",
// "120 MB", "1.2 GB". The units are powers of ten.
func FormatBytes(n int64) string {
	if n < 1e3 {
		return Count(n, "byte")
	}
	if n < 1e5 {
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	if n < 1e8 {
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	if n < 1e9 {
		return fmt.Sprintf("%.0f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}

// ParseBytes reads a number of bytes: 8GB, 500MB, 1.5GiB, 4096.
func ParseBytes(s string) (int64, error) {
	number := strings.TrimRight(s, "BGKMTbgikmt ")
	x, err := strconv.ParseFloat(number, 64)
	factor, ok := map[string]float64{
		"": 1, "b": 1,
		"k": 1e3, "kb": 1e3, "m": 1e6, "mb": 1e6, "g": 1e9, "gb": 1e9, "t": 1e12, "tb": 1e12,
		"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
	}[strings.ToLower(strings.TrimSpace(s[len(number):]))]
	if ok && x*factor >= 1e18 {
		return 0, errors.New("it is too large: want less than 1000000TB, such as 8GB")
	}
	if err != nil || !ok || !(x*factor >= 1) {
		return 0, errors.New("want a size such as 8GB, 500MB or 1.5GiB")
	}
	return int64(x * factor), nil
}
