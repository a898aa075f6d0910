// Command goreleaser-config reads a configuration of GoReleaser as GoReleaser 2.17 does: unknown
// keys and values of the wrong type are errors. GoReleaser itself takes minutes to compile.
package main

import (
	"fmt"
	"os"

	"github.com/goreleaser/goreleaser/v2/pkg/config"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "goreleaser-config: want one file, as in goreleaser-config "+
			".goreleaser.yaml")
		os.Exit(2)
	}
	if _, err := config.Load(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "goreleaser-config: %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}
