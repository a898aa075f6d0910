package corpus

import "fmt"

// RetryError is an error that may not come again: a disk or a bucket failed.
type RetryError struct{ Err error }

// Error returns the text of the error.
func (e *RetryError) Error() string { return e.Err.Error() }

// Unwrap returns what happened.
func (e *RetryError) Unwrap() error { return e.Err }

// ShardError is the error of a shard that cannot be made however often it is tried.
type ShardError struct {
	Shard int
	Err   error
}

// Error names the shard.
func (e *ShardError) Error() string { return fmt.Sprintf("corpus: shard %d: %v", e.Shard, e.Err) }

// Unwrap returns what is wrong.
func (e *ShardError) Unwrap() error { return e.Err }
