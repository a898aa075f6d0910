package engine

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/cmd/headwater/explain"
	"github.com/headwater-ml/headwater/gonbext/local"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/engine/server"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/models"
)

func serveCommand(k *cli.Kit) *cobra.Command {
	var c local.Config
	var flags cli.ModelFlags
	cmd := &cobra.Command{
		Use:   "serve --socket PATH",
		Short: "keep models open for notebooks (they start this by themselves)",
		Args:  cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.NeedFlags(cmd, "socket"); err != nil {
				return err
			}
			switch {
			case c.Watch < 0:
				return cli.Usagef("--watch %d: want the number of a process, or 0", c.Watch)
			case c.Idle < 0:
				return cli.Usagef("--idle %v: want a time of 0 or more", c.Idle)
			}
			if err := c.FromEnvironment(); err != nil {
				return err
			}
			ctx := cmd.Context()
			c.Backend, c.Log, c.Encode = flags.Backend, k.Stderr, explain.EncodeFile
			c.Origin, c.Opens = explain.OriginOf, explain.OpeningOf
			c.Figures = server.Figures{Find: servedFigures, Draw: drawPicture}
			c.Build = cli.Release()
			cli.CollectWithin(models.LimitMemory(c.Memory).Limit)
			return local.Serve(ctx, c)
		},
	}
	cmd.Flags().StringVar(&c.Socket, "socket", "", "listen on the unix socket `PATH`")
	cmd.Flags().IntVar(&c.Watch, "watch", 0, "end with the process of this `ID`; 0 is none")
	cmd.Flags().DurationVar(&c.Idle, "idle", time.Duration(0),
		"end when nobody asks for this `time`, such as 2h; 0 is never")
	cli.WholeFlag(cmd.Flags(), &c.Models, "models", 1, 1000, "keep at most `N` models open, and "+
		"close the least recently used one", "HEADWATER_ENGINE_MODELS, else 4")
	cmd.Flags().Func("memory", "let the open models and what their runs record take at most "+
		"`SIZE` together, such as 12GB (default HEADWATER_ENGINE_MEMORY, else half of the machine "+
		"for weights)", func(s string) (err error) {
		c.Memory, err = message.ParseBytes(s)
		return err
	})
	flags.AddBackend(cmd)
	return cmd
}
