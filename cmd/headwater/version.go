package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

func versionCommand(k *program) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version and how the program was built",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(k.stdout, version())
			return err
		},
	}
}

// release returns the version of the program, "(devel)" if it was built from a checkout.
func release() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// version returns the name, version and platform of the program on one line.
func version() string {
	parts := []string{
		"headwater " + release(), runtime.Version(),
		runtime.GOOS + "/" + runtime.GOARCH,
	}
	if experiment := buildSetting("GOEXPERIMENT"); experiment != "" {
		parts = append(parts, "GOEXPERIMENT="+experiment)
	}
	return strings.Join(append(parts, "CGO_ENABLED="+buildSetting("CGO_ENABLED")), ", ")
}
