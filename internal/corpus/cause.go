package corpus

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/internal/corpus/bucket"
)

// refused reports whether the same request would be refused again.
func refused(a *bucket.Answer) bool {
	return a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden
}

// wrong reports whether the address or the request is wrong, so that another attempt cannot help.
func wrong(a *bucket.Answer) bool {
	return slices.Contains([]string{
		"AuthorizationHeaderMalformed", "EntityTooLarge", "InvalidArgument", "InvalidRequest",
		"NotImplemented", "PermanentRedirect",
	}, a.Code)
}

// bucketCause returns the error of a bucket in the words of its server or of the system. The client
// library puts a dozen names and numbers of its own around them, which say nothing to a user.
func bucketCause(err error) error {
	if late := (*lateError)(nil); errors.As(err, &late) {
		return late
	}
	if answer := (*bucket.Answer)(nil); errors.As(err, &answer) {
		return answer
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the server ended the connection")
	}
	if connection := (*net.OpError)(nil); errors.As(err, &connection) && connection.Addr != nil {
		return fmt.Errorf("%s: %w", connection.Addr, innermost(connection.Err))
	}
	text, _, _ := strings.Cut(innermost(err).Error(), "\n")
	return errors.New(text)
}

// innermost returns the error that others wrap.
func innermost(err error) error {
	for {
		switch next := err.(type) {
		case interface{ Unwrap() error }:
			if err = next.Unwrap(); err == nil {
				return next.(error)
			}
		case interface{ Unwrap() []error }:
			all := next.Unwrap()
			if len(all) == 0 {
				return err
			}
			err = all[0] // others are what kind of error it is
		default:
			return err
		}
	}
}
