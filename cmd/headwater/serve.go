package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/gonbext/engine/server"
	"github.com/headwater-ml/headwater/gonbext/local"
	"github.com/headwater-ml/headwater/models"
)

func (p *program) serveCommand() *cobra.Command {
	var c local.Config
	var flags modelFlags
	cmd := &cobra.Command{
		Use:   "serve --socket PATH",
		Short: "keep models open for notebooks (they start this by themselves)",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := needFlags(cmd, "socket"); err != nil {
				return err
			}
			switch {
			case c.Watch < 0:
				return usagef("--watch %d: want the number of a process, or 0", c.Watch)
			case c.Idle < 0:
				return usagef("--idle %v: want a time of 0 or more", c.Idle)
			}
			ctx, stop := interruptible(cmd)
			defer stop()
			c.Backend, c.Log, c.Encode = flags.backend, p.stderr, encodeLast
			c.Figures = server.Figures{Find: servedFigures, Draw: drawPicture}
			collectWithin(models.LimitMemory(0).Bytes)
			return local.Serve(ctx, c)
		},
	}
	cmd.Flags().StringVar(&c.Socket, "socket", "", "listen on the unix socket `PATH`")
	cmd.Flags().IntVar(&c.Watch, "watch", 0, "end with the process of this `ID`; 0 is none")
	cmd.Flags().DurationVar(&c.Idle, "idle", time.Duration(0),
		"end when nobody asks for this `time`, such as 2h; 0 is never")
	flags.addBackend(cmd)
	return cmd
}
