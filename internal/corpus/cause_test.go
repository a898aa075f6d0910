package corpus

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/headwater-ml/headwater/internal/corpus/bucket"
)

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
		{
			&bucket.Answer{Status: 503, Code: "SlowDown", Message: "Please reduce your rate."},
			"the server answers SlowDown: Please reduce your rate",
		},
		{&bucket.Answer{Status: 404}, "the server answers 404 Not Found"},
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
