package machine

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/hub"
	"github.com/headwater-ml/headwater/internal/kernel"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/xlaplugin"
)

func kernelCommand(k *cli.Kit) *cobra.Command {
	methods := attribution.MethodNames()
	o := kernel.StartOptions{
		Log:  func(line string) { k.Say("%s", line) },
		Near: message.Nearest,
		Values: map[string][]string{
			"Methods": methods, "Method": methods, "AgainstMethod": methods,
			"By": {"word", "sentence", "turn"}, "Palette": render.PaletteNames(),
		},
	}
	for _, kind := range render.Kinds() {
		o.Values["Kind"] = append(o.Values["Kind"], string(kind))
	}
	cmd := &cobra.Command{
		Use:   "kernel --connection FILE",
		Short: "run the cells of a notebook (Jupyter starts this by itself)",
		Args:  cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.NeedFlags(cmd, "connection"); err != nil {
				return err
			}
			if _, err := os.Stat(o.Connection); err != nil {
				return fmt.Errorf("the file of --connection: %w", err)
			}
			if o.GoNB != "" {
				return kernel.Between(o)
			}
			if err := keepPlugin(); err != nil {
				return err
			}
			return kernel.Start(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.Connection, "connection", "", "`FILE` in which Jupyter says how "+
		"to reach the kernel")
	cmd.Flags().StringVar(&o.Path, "path", "", "`FOLDERS` to search before PATH, as in PATH")
	cmd.Flags().StringVar(&o.GoNB, "gonb", "", "`FILE` of the connection between this and GoNB")
	cmd.Flags().StringVar(&o.Source, "source", "", "`FOLDER` of the module whose names cells know")
	for _, own := range []string{"gonb", "source"} { // which the kernel gives itself
		_ = cmd.Flags().MarkHidden(own)
	}
	return cmd
}

// keepPlugin sets HEADWATER_XLA to the plugin that is found in the folder of the notebook. The
// engine runs in another folder, where it would not find the plugin of a clone.
func keepPlugin() error {
	if os.Getenv(xlaplugin.Env) != "" {
		return nil
	}
	path, err := xlaplugin.Find()
	if err != nil {
		return nil //nolint:nilerr // cells compute in pure Go, or say what is missing
	}
	return os.Setenv(xlaplugin.Env, path)
}

// installFlags are the flags of headwater install.
type installFlags struct {
	user, sysPrefix, uninstall bool
	prefix                     string
}

func installCommand(k *cli.Kit) *cobra.Command {
	var f installFlags
	cmd := &cobra.Command{
		Use:   "install",
		Short: "make Jupyter run Go notebooks that know Headwater",
		Args:  cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.user && f.sysPrefix || f.prefix != "" && (f.user || f.sysPrefix) {
				return cli.Usagef("--user, --sys-prefix and --prefix do not go together: " +
					"each names a Jupyter")
			}
			dir, err := f.dataDir()
			if err != nil {
				return err
			}
			if f.uninstall {
				return uninstallKernel(k, dir)
			}
			return installKernel(k, cmd, dir)
		},
	}
	cmd.Flags().BoolVar(&f.user, "user", false, "for this user, or in JUPYTER_DATA_DIR if that "+
		"is set (the default)")
	cmd.Flags().BoolVar(&f.sysPrefix, "sys-prefix", false, "for the Python in PATH, such as an "+
		"active virtual environment")
	cmd.Flags().StringVar(&f.prefix, "prefix", "", "for the Jupyter in this `FOLDER`, such as "+
		"/usr/local or a virtual environment")
	cmd.Flags().BoolVar(&f.uninstall, "uninstall", false, "remove the kernel from there")
	return cmd
}

// dataDir returns the data directory of the Jupyter that the flags choose.
func (f installFlags) dataDir() (string, error) {
	switch {
	case f.prefix != "":
		return kernel.PrefixDataDir(f.prefix), nil
	case f.sysPrefix:
		prefix, err := kernel.SysPrefix()
		return kernel.PrefixDataDir(prefix), err
	}
	return kernel.UserDataDir()
}

func installKernel(k *cli.Kit, cmd *cobra.Command, dir string) error {
	programs := kernel.FindPrograms(cmd.Context(), "")
	path, err := kernel.Install(kernel.InstallOptions{
		DataDir: dir, Programs: programs,
		Keep: []string{xlaplugin.Env, xlaplugin.CUDAEnv, hub.ModelsVariable},
	})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(k.Stdout, path); err != nil {
		return err
	}
	if remark := programs.Remark(); remark != "" {
		k.Say("%s", remark)
	}
	k.Say("next: start jupyter lab and choose %s", kernel.DisplayName)
	return nil
}

func uninstallKernel(k *cli.Kit, dir string) error {
	removed, err := kernel.Uninstall(dir)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(k.Stdout, "removed %s\n", removed)
	return err
}
