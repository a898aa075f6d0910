//go:build !unix

package main

// ignoreFileLimit does nothing where no signal tells of the size that a file may have.
func ignoreFileLimit() {}
