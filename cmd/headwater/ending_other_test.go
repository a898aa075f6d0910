//go:build !unix

package main

// actAsProgram prepares nothing where signals and limits are not tested.
func actAsProgram() {}
