package hub

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Reachable returns nil if the endpoint answers one request within the given time; any answer
// counts. It is for a caller that has another source of the same model and does not want to wait
// as long as [Resolve] does where there is no network.
//
// The error says that opts forbid requests or why the connection fails. If ctx ends, it wraps
// ctx.Err(). The token is not sent.
func Reachable(ctx context.Context, opts Options, within time.Duration) error {
	if opts.Offline {
		return errors.New("hub: HF_HUB_OFFLINE forbids asking the Hub")
	}
	opts.Token, opts.Patience = "", within
	c, err := newClient(Ref{}, opts)
	if err != nil {
		return err
	}
	defer c.stop()
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	req, err := http.NewRequestWithContext(limited, http.MethodHead, c.endpoint.String(), nil)
	if err != nil {
		return fmt.Errorf("hub: %w", err)
	}
	client := *c.http
	client.CheckRedirect = func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}
	resp, err := client.Do(req)
	if err == nil {
		return resp.Body.Close()
	}
	if ctx.Err() != nil {
		return fmt.Errorf("hub: %w", ctx.Err())
	}
	var timeout interface{ Timeout() bool }
	if limited.Err() != nil || (errors.As(err, &timeout) && timeout.Timeout()) {
		return fmt.Errorf("hub: %s has not answered within %v", c.endpoint.Host, within)
	}
	return fmt.Errorf("hub: %w", &unreachable{host: c.endpoint.Host, err: withoutAddress(err)})
}
