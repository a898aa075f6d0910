package render

import (
	"crypto/sha256"
	"encoding/hex"
)

// hashOf returns the name of a picture, by which a script knows it again, from what it shows.
func hashOf(what string) string {
	sum := sha256.Sum256([]byte(what))
	return hex.EncodeToString(sum[:4])
}
