package corpus

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
)

// bucketCause returns the error of a bucket in the words of its server or of the system. The client
// library puts a dozen names and numbers of its own around them, which say nothing to a user.
func bucketCause(err error) error {
	// A client of S3 has this for every answer of the server that is an error.
	var answer interface {
		error
		ErrorCode() string
		ErrorMessage() string
	}
	if errors.As(err, &answer) {
		code, message := answer.ErrorCode(), answer.ErrorMessage()
		if message == "" || message == code {
			return fmt.Errorf("the server answers %s", code)
		}
		return fmt.Errorf("the server answers %s: %s", code, strings.TrimSuffix(message, "."))
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
