package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

func versionCommand(k *Kit) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version and how the program was built",
		Args:  NoArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(k.Stdout, Version())
			return err
		},
	}
}

// Release returns the version of the program, "(devel)" if it was built from a checkout.
func Release() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// Version returns the name, version and platform of the program on one line.
func Version() string {
	parts := []string{
		"headwater " + Release(), runtime.Version(),
		runtime.GOOS + "/" + runtime.GOARCH,
	}
	if experiment := BuildSetting("GOEXPERIMENT"); experiment != "" {
		parts = append(parts, "GOEXPERIMENT="+experiment)
	}
	return strings.Join(append(parts, "CGO_ENABLED="+BuildSetting("CGO_ENABLED")), ", ")
}
