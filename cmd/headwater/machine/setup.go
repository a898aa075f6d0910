package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/xlaplugin"
)

func setupCommand(k *cli.Kit) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "setup",
		Short: "install what makes models faster",
		Args:  cli.KnownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.Usagef("setup needs what to set up; known is xla, as in headwater setup xla")
		},
	}
	cmd.AddCommand(setupXLACommand(k))
	return cmd
}

func setupXLACommand(k *cli.Kit) *cobra.Command {
	var opts xlaplugin.InstallOptions
	cmd := &cobra.Command{
		Use:   "xla",
		Short: "install the plugin with which XLA computes on CPUs",
		Args:  cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opts.SHA256 != "" && opts.From == "" {
				return cli.Usagef("--sha256 is the hash of the file of --from, which is missing")
			}
			if sum, err := hex.DecodeString(opts.SHA256); opts.SHA256 != "" &&
				(err != nil || len(sum) != sha256.Size) {
				return cli.Usagef("--sha256 %.60q: want the %d hexadecimal digits of a SHA-256",
					opts.SHA256, 2*sha256.Size)
			}
			if opts.Source != "" && opts.From != "" {
				return cli.Usagef("--source and --from do not go together: --from is a source")
			}
			if opts.Source != "" {
				if err := cli.OneOf("source", opts.Source, xlaplugin.SourceGoXLA,
					xlaplugin.SourceWheel); err != nil {
					return err
				}
			}
			return setupXLA(k, cmd, opts)
		},
	}
	cmd.Flags().StringVar(&opts.Dir, "dir", "", "install into this `FOLDER` (default "+
		"headwater/xla in the user's cache)")
	cmd.Flags().StringVar(&opts.From, "from", "", "take it from `FILE`, or an http address: the "+
		"wheel, a release of go-xla or the plugin itself")
	cmd.Flags().StringVar(&opts.SHA256, "sha256", "", "`hash` that the file of --from must "+
		"have; without it only known files are taken")
	cmd.Flags().StringVar(&opts.Source, "source", "", "take it from here only: `go-xla|wheel` "+
		"(default what works first)")
	return cmd
}

// setupXLA installs the plugin and says where it is.
func setupXLA(k *cli.Kit, cmd *cobra.Command, opts xlaplugin.InstallOptions) error {
	line := k.Progress()
	defer line.Clear()
	opts.OnProgress = func(what string, done, total int64) {
		switch {
		case total > 0:
			line.Show("%s: %d of %d MB", what, done/1e6, total/1e6)
		case done > 0:
			line.Show("%s: %d MB", what, done/1e6)
		default:
			line.Show("%s", what)
		}
	}
	got, err := xlaplugin.Install(cmd.Context(), opts)
	if err != nil {
		return err
	}
	line.Clear()
	checked := "its hash was checked"
	if !got.Checked {
		checked = "its source publishes no hash to check"
	}
	_, err = fmt.Fprintf(k.Stdout, "%s\n  from %s, %s; %d MB, SHA-256 %s\n", got.Path,
		sourceName(got), checked, got.Bytes/1e6, got.SHA256)
	if err != nil {
		return err
	}
	switch found, err := xlaplugin.Find(); {
	case err != nil:
		k.Say("it is not found by itself there: set %s=%s", xlaplugin.Env, got.Path)
	case found != got.Path:
		k.Say("here %s is used before it; to use the new one set %s=%s", found, xlaplugin.Env,
			got.Path)
	}
	k.Say("next: headwater doctor")
	return nil
}

// sourceName says where a plugin came from.
func sourceName(got xlaplugin.Installed) string {
	switch {
	case got.Source == "":
		return "an unknown source"
	case got.Version == "":
		return got.Source
	}
	return got.Source + " " + got.Version
}
