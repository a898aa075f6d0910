package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

func (p *program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version and how the program was built",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(p.stdout, version())
			return err
		},
	}
}

// version returns the name, version and platform of the program on one line.
func version() string {
	release := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		release = info.Main.Version
	}
	parts := []string{
		"headwater " + release, runtime.Version(),
		runtime.GOOS + "/" + runtime.GOARCH,
	}
	if experiment := buildSetting("GOEXPERIMENT"); experiment != "" {
		parts = append(parts, "GOEXPERIMENT="+experiment)
	}
	return strings.Join(append(parts, "CGO_ENABLED="+buildSetting("CGO_ENABLED")), ", ")
}
