//go:build !(cgo && linux && amd64)

package xlaplugin

import (
	"context"
	"errors"
)

// fromGoXLA is not here: without cgo nothing of go-xla is linked.
func fromGoXLA(context.Context, InstallOptions, string) (Installed, error) {
	return Installed{}, errors.New("this program is built without cgo, and so " +
		"without go-xla's installer")
}
