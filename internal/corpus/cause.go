package corpus

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// answer is an answer of the server of a bucket that is an error.
type answer struct {
	status        int    // of HTTP, 0 if it is not known
	code, message string // "" if there are none
}

// Error says what the server answers.
func (a answer) Error() string {
	what := a.code
	if what == "" {
		what = strings.TrimSpace(fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)))
	}
	if a.message == "" || a.message == what {
		return "the server answers " + what
	}
	return fmt.Sprintf("the server answers %s: %s", what, strings.TrimSuffix(a.message, "."))
}

// refusal reports whether the same request would be refused again.
func (a answer) refusal() bool {
	return a.status == http.StatusUnauthorized || a.status == http.StatusForbidden
}

// noBucket reports whether the bucket does not exist.
func (a answer) noBucket() bool { return a.code == "NoSuchBucket" || a.code == "ContainerNotFound" }

// answerOf returns what the server answered, and false if the error is not about an answer.
func answerOf(err error) (answer, bool) {
	if BucketClients.Answer != nil {
		if status, code, message := BucketClients.Answer(err); status != 0 {
			return answer{status, code, message}, true
		}
	}
	// A client of S3 has this for every answer of the server that is an error.
	var said interface {
		error
		ErrorCode() string
		ErrorMessage() string
	}
	if !errors.As(err, &said) {
		return answer{}, false
	}
	a := answer{code: said.ErrorCode(), message: said.ErrorMessage()}
	var status interface {
		error
		HTTPStatusCode() int
	}
	if errors.As(err, &status) {
		a.status = status.HTTPStatusCode()
	}
	return a, true
}

// bucketCause returns the error of a bucket in the words of its server or of the system. The client
// library puts a dozen names and numbers of its own around them, which say nothing to a user.
func bucketCause(err error) error {
	if late := (*lateError)(nil); errors.As(err, &late) {
		return late
	}
	if answer, ok := answerOf(err); ok {
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
