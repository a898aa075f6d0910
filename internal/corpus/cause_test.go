package corpus

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
)

// answered is an answer of an S3 server, as its client returns it.
type answered struct{ code, message string }

func (a answered) Error() string        { return "api error " + a.code }
func (a answered) ErrorCode() string    { return a.code }
func (a answered) ErrorMessage() string { return a.message }

func TestBucketCause(t *testing.T) {
	address := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9000}
	refused := &net.OpError{
		Op: "dial", Net: "tcp", Addr: address,
		Err: os.NewSyscallError("connect", syscall.ECONNREFUSED),
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{answered{"SlowDown", "Please reduce your request rate."}, "the server answers SlowDown: " +
			"Please reduce your request rate"},
		{answered{"NotFound", ""}, "the server answers NotFound"},
		{refused, "127.0.0.1:9000: connection refused"},
		{io.ErrUnexpectedEOF, "the server ended the connection"},
		{errors.New("checksum did not match\nRESPONSE 200"), "checksum did not match"},
	} {
		// As the layers of a client wrap it, some with one cause and some with several.
		once := fmt.Errorf("operation error S3: GetObject: %w", c.err)
		twice := fmt.Errorf("blob: %w (code=%w)", once, errors.New("Unknown"))
		if got := bucketCause(twice).Error(); got != c.want {
			t.Errorf("bucketCause(%v) = %q, want %q", twice, got, c.want)
		}
	}
}
