package gonbext

import (
	"context"
	"os"
	"os/signal"

	"github.com/headwater-ml/headwater/internal/engine"
)

// Last returns the latest explanation of this kernel, so that a later cell need not compute it
// again:
//
//	gonbext.Draw(gonbext.Last())
//
// The engine keeps it, in memory and for this kernel only, and forgets it when it ends. It has a
// column for each prompt token; [attribution.Explanation.Group] puts them together as
// By of [Show] does. On an error, which says that there is none, Last shows one line and ends the
// program; see [TryLast].
func Last() *Explanation {
	e, err := TryLast()
	if err != nil {
		newDisplay().exit(err)
	}
	return e
}

// TryLast is [Last], with the error returned.
func TryLast() (*Explanation, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	client, err := running(ctx)
	if err != nil {
		return nil, worded(err)
	}
	e, err := client.Last(ctx)
	return e, worded(err)
}

// running returns the engine of this kernel, which has the latest explanation. It starts none.
func running(ctx context.Context) (engine.Client, error) {
	client, is, err := engine.Start{}.Running(ctx)
	if err == nil && !is {
		err = usagef("there is no explanation yet: run a cell with Explain first")
	}
	return client, err
}
