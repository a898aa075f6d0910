//go:build !(cgo && linux && amd64)

// Package xla adds the XLA backend to package models where cgo is available; here it does nothing.
package xla
