// Package engine talks to a process that holds models, so that a notebook's cells need neither load nor link them.
//
// An engine listens on a unix socket in a directory that only its user can enter. A [Client] sends it one request a
// connection and reads events until the last one; closing the connection cancels the request:
//
//	client, err := engine.Start{}.Connect(ctx)
//	e, err := client.Explain(ctx, engine.Model{}, "the keys to the cabinet", attribution.Options{})
//
// [Start] finds the engine that belongs to the parent process, in a notebook the kernel, and otherwise builds and
// starts one, or starts this program again where package gonbext/local is part of it. Package engine/server is the other side.
package engine

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// Version is the version of the protocol. An engine refuses requests of another one, but for [KindStop].
const Version = 4

// MaxFrame is how many bytes a frame may have; a longer one ends the connection. Tensors travel in several frames.
const MaxFrame = 64 << 20

// MaxRequest is how many bytes the frame of a request may have. It is less than [MaxFrame], because
// numbers and names take up to 16 times as much memory as they take in a frame.
const MaxRequest = 8 << 20

// Kind says what a request asks for.
type Kind string

// The kinds of requests.
const (
	KindExplain Kind = "explain" // begin, then tokens and rows as they come, then the end
	KindTrace   Kind = "trace"   // tokens, then tensors in pieces, then the end
	KindInfo    Kind = "info"    // a status, then the end
	KindStop    Kind = "stop"    // the end; the engine stops
)

// Model says which model a request is about. Empty fields are the engine's defaults.
type Model struct {
	// Name is a built-in name, a path, or a name of the Hub such as openai-community/gpt2; a path is made absolute by the client.
	Name string
	// Backend is go, xla, cuda, xla:path or cuda:path.
	Backend string
	// DType is what the weights are held in, float32 or bfloat16.
	DType string
	// MaxMemory is how many bytes the model and what it records may take; 0 is what the machine has left.
	MaxMemory int64
}

// Request is the one frame that a client sends.
type Request struct {
	Version int
	Kind    Kind
	Model   Model
	// Alive is how often the client wants a sign of life while the engine works; 0: never. It is an
	// empty frame, which [Receive] skips.
	Alive time.Duration
	// Text is the prompt, in raw bytes; IDs, if not nil, are used in its place by KindTrace.
	Text []byte
	IDs  []int
	Taps []trace.Tap
	// Specials is about begin-of-text in KindTrace.
	Specials trace.Specials
	// Options are the [attribution.Options] of KindExplain as JSON, which keeps pointers to zero apart from nil.
	// Continuation goes beside them, since JSON would change bytes that are no UTF-8.
	Options      []byte
	Continuation []byte
}

// Event is a frame that an engine sends. Several fields may be set; the client takes them in this order.
type Event struct {
	Progress *trace.Progress
	// Begin starts an explanation.
	Begin *Begin
	// Method starts the result of a method, or starts it anew.
	Method *Method
	// Row is the next row of a result.
	Row *Row
	// Map starts the map of a method and MapPart is the next part of its data.
	Map     *Map
	MapPart []float64
	// Tokens are the next generated tokens.
	Tokens []attribution.GeneratedToken
	// Step is whether the explanation is now worth showing.
	Step bool
	// Warnings are all remarks so far.
	Warnings []string
	// Input are the tokens that tensors are about; Tensor starts a tensor and Piece is the next part of its data,
	// float32 in little-endian order.
	Input  []trace.Token
	Tensor *TensorHead
	Piece  []byte
	Status *Status
	// Failure ends the request with an error, Done without one.
	Failure *Failure
	Done    bool
}

// Begin is what an explanation knows before its first token.
type Begin struct {
	Model  trace.Info
	Prompt attribution.Prompt
	Order  []string
}

// Method is an [attribution.Result] without its rows: m prompt tokens, len(Layers) layers.
type Method struct {
	Name    string
	Options map[string]string
	Layers  []int
	Prompt  int
	Unit    string
}

// Row is M[t,:,:] of the next generated token, [m,l], what rests on generated tokens, [l] or empty, and of a scorer the number that it
// explains and what its values leave of it, one number each or none.
type Row struct {
	Method             string
	Data               []float64
	Other              []float64
	Explained, Residue []float64
}

// Map is an [attribution.Map] without its data: every target's row of an encoder's text of so many tokens.
type Map struct {
	Name    string
	Options map[string]string
	Layers  []int
	Tokens  int
	Unit    string
}

// TensorHead is a [trace.Tensor] without its data.
type TensorHead struct {
	Name, Axes string
	Shape      []int
}

// Status is what an engine says of itself.
type Status struct {
	Version int
	PID     int
	// Models are the names of the models that it holds, sorted.
	Models []string
	// Requests is how many it has begun, this one not counted.
	Requests int
}

// Failure is an error on its way to the client. Usage is whether it is one of
// [attribution.ErrUsage], and Kind says what can be done about it, if anything is known.
type Failure struct {
	Message string
	Usage   bool
	Kind    trace.ErrorKind
}

// Error is an error that the engine met. errors.Is finds [attribution.ErrUsage] in it if it was one,
// and [trace.KindOf] finds its kind.
type Error struct{ Failure }

// Kind returns the kind of the error.
func (e *Error) Kind() trace.ErrorKind { return e.Failure.Kind }

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Is reports usage errors.
func (e *Error) Is(target error) bool { return e.Usage && target == attribution.ErrUsage }

// ErrTooLong is a frame beyond its limit.
var ErrTooLong = errors.New("engine: frame is longer than the limit")

// Send writes v as one frame: its length in 4 bytes, big-endian, then gob, in one call of w.Write. It
// returns an error that wraps ErrTooLong, before writing anything, if the frame would be longer than
// MaxFrame.
func Send(w io.Writer, v any) error { return send(w, v, MaxFrame) }

// send is Send with a limit.
func send(w io.Writer, v any, limit int) error {
	var b bytes.Buffer
	b.Write(make([]byte, headBytes))
	if err := gob.NewEncoder(&b).Encode(v); err != nil {
		return fmt.Errorf("engine: encoding a frame: %w", err)
	}
	n := b.Len() - headBytes
	if n > limit {
		return fmt.Errorf("%w: %d bytes, limit %d", ErrTooLong, n, limit)
	}
	binary.BigEndian.PutUint32(b.Bytes(), uint32(n))
	_, err := w.Write(b.Bytes())
	return err
}

// headBytes is how many bytes the length of a frame takes.
const headBytes = 4

// SignOfLife is a frame of no bytes, which says that the sender works. [Receive] skips it.
var SignOfLife [headBytes]byte

// Receive reads one frame into v and skips signs of life before it. Memory grows with what arrives, not
// with what a frame claims. The error is io.EOF if the stream ends before the frame.
func Receive(r io.Reader, v any) error { return receive(r, v, MaxFrame) }

// ReceiveRequest is [Receive] for the one frame of a client, with the limit [MaxRequest]. The request is
// not checked; see [Request.Check].
func ReceiveRequest(r io.Reader) (q Request, err error) {
	err = receive(r, &q, MaxRequest)
	return q, err
}

// receive is Receive with a limit.
func receive(r io.Reader, v any, limit int64) error {
	n := int64(0)
	for n == 0 {
		var head [headBytes]byte
		if got, err := io.ReadFull(r, head[:]); err != nil {
			if got > 0 {
				return cut(int64(got), headBytes, err)
			}
			return err
		}
		n = int64(binary.BigEndian.Uint32(head[:]))
	}
	if n > limit {
		return fmt.Errorf("%w: %d bytes, limit %d", ErrTooLong, n, limit)
	}
	var b bytes.Buffer
	if got, err := io.CopyN(&b, r, n); err != nil {
		return cut(got, n, err)
	}
	if err := gob.NewDecoder(&b).Decode(v); err != nil {
		return fmt.Errorf("engine: decoding a frame: %w", err)
	}
	return nil
}

// cut describes a frame that ends early: the stream ended, or err says why.
func cut(got, want int64, err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("engine: the frame ends after %d of %d bytes: %w", got, want, err)
}
