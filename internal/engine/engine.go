// Package engine talks to a process that keeps models open. The cells of a notebook use it so that
// they need neither load nor link a model.
//
// The engine listens on a unix socket in a directory that only its user can enter. A [Client] opens
// one connection for each request and reads events until the last one. Closing the connection
// cancels the request:
//
//	client, err := engine.Start{}.Connect(ctx)
//	prompt := "the keys to the cabinet"
//	e, err := client.Explain(ctx, engine.Model{}, prompt, attribution.Options{})
//
// [Start] finds the engine that belongs to the parent process, which in a notebook is the kernel.
// If there is none, it builds and starts one. A program that imports package gonbext/local is
// started again instead. Package engine/server is the other side.
package engine

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/errorkind"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/sources"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("engine")

// Version is the version of the protocol. An engine refuses requests of any other version, except
// [KindStop].
//
// A client sends one [Request] as JSON, in which no number says how much memory to reserve. The
// engine answers with a stream of [Event] values of encoding/gob, which keeps every byte of a token
// and every number, NaN and infinity included. Both end with the connection.
const Version = 12

// maxRequest is how many bytes a request may have.
const maxRequest = 8 << 20

// Kind is what a request asks for.
type Kind string

// The kinds of requests.
const (
	KindExplain Kind = "explain" // answered by the explanation as it grows
	KindTrace   Kind = "trace"   // answered by the tokens, then the tensors in pieces
	KindLast    Kind = "last"    // answered by the latest explanation
	KindSources Kind = "sources" // answered by the scores of the sources of an answer
	KindSave    Kind = "save"    // answered by the bytes of a file of an explanation
	KindPicture Kind = "picture" // what was drawn last, for KindSave; answered by nothing
	KindPart    Kind = "part"    // has a part of a picture; answered by nothing
	KindFigures Kind = "figures" // answered by the bytes of figures of documents, as JSON
	KindDraw    Kind = "draw"    // answered by the bytes of a drawn picture
	KindInfo    Kind = "info"    // answered by a status
	KindStop    Kind = "stop"    // ends the engine
)

// Model is the model that a request is about. Empty fields are the engine's defaults.
type Model struct {
	// Name is a built-in name, a path, or a name on the Hub such as openai-community/gpt2. The
	// client makes a path absolute.
	Name string
	// Backend is go, xla, cuda, xla:path or cuda:path. The client makes a path absolute.
	Backend string
	// DType is the type of the weights in memory, float32 or bfloat16.
	DType string
	// MaxMemory is how many bytes the model and its recordings may take; 0 is what the machine has
	// left.
	MaxMemory int64
}

// Request is what a client sends.
type Request struct {
	Version int
	Kind    Kind
	Model   Model
	// Name is the name of the model as the caller wrote it, which may be a relative path.
	Name string
	// Alive is how often the client wants an event while the engine works; 0: only when there is
	// news.
	Alive time.Duration
	// Text is the prompt in raw bytes. KindTrace uses IDs instead if they are not nil.
	Text []byte
	IDs  []int
	Taps []trace.Tap
	// Edits are those under which KindTrace runs the model.
	Edits []trace.Edit `json:",omitempty"`
	// Specials reports whether KindTrace adds begin-of-text.
	Specials trace.Specials
	// File is the name of the file of KindSave and KindDraw, without folders. Its end says the
	// format.
	File string
	// Show is, for KindExplain, how the client shows the explanation, in the JSON form of
	// render.Show, and for KindSave what a file shows, where it differs from the picture. For
	// KindDraw it is the look of a file.
	Show json.RawMessage `json:",omitempty"`
	// Picture is the [Picture] of KindPicture and KindSave in the form of [WritePicture]; empty
	// for KindSave is the latest one. What does not fit into a request came before, in requests of
	// KindPart with the same Upload, a name that no other picture has.
	Picture []byte `json:",omitempty"`
	Upload  string `json:",omitempty"`
	// Figures are names of figures or documents for KindFigures.
	Figures []string `json:",omitempty"`
	// Options are the [attribution.Options] of KindExplain as JSON, the [sources.Ask] of
	// KindSources, and the picture of KindDraw. Continuation is separate, because JSON changes
	// bytes that are not UTF-8.
	Options      json.RawMessage
	Continuation []byte
}

// Event is one part of an answer. An event without any field set only says that the engine works.
type Event struct {
	Progress *trace.Progress
	// Explanation is the part of the explanation that is new: generated tokens with their rows of
	// every method, a map, or what studies found of the text. The first one also has what does not
	// change, and each has all warnings so far.
	Explanation *attribution.Explanation
	// Findings are what studies found of generated tokens that have arrived before, by their
	// numbers.
	Findings map[int]attribution.Findings
	// Step says that the explanation is now worth showing.
	Step bool
	// Input are the tokens that the tensors are about.
	Input []trace.Token
	// Tensor starts a tensor, without its data. Piece is the next part of the data, float32 in
	// little-endian order, or of a file.
	Tensor *trace.Tensor
	Piece  []byte
	// Notes are what a file has, and remarks on what it cannot show.
	Notes []string
	// Sources are the scores of the sources of an answer.
	Sources *sources.Result
	Status  *Status
	// Failure ends the answer with an error, Done without one.
	Failure *Error
	Done    bool
}

// Status is what an engine reports about itself.
type Status struct {
	Version int
	PID     int
	// Build is the version of the program, such as v0.6.0; (devel) if it is not a release.
	Build string
	// Host is the name of the machine.
	Host string
	// Watch is the process that the engine ends with, which in a notebook is the kernel; 0: none.
	Watch int
	// Notebook is the name of the notebook, if the kernel knows it.
	Notebook string
	// Models are the names of the open models, sorted, and Open says more about each, the latest
	// used one first.
	Models []string
	Open   []OpenModel
	// Limit is how many bytes weights may take together, and MaxModels how many models stay open.
	Limit     int64
	MaxModels int
	// Memory is how many bytes of memory the process holds.
	Memory int64
	// Requests is how many requests it began before this one, and Running how many of them have not
	// ended.
	Requests, Running int
	// Age is how long it has been running, and Idle how long it has had nothing to do.
	Age, Idle time.Duration
}

// OpenModel is a model that an engine keeps open.
type OpenModel struct {
	Name    string `json:"name"`
	Backend string `json:"backend"`
	DType   string `json:"dtype,omitempty"`
	// Bytes is how many bytes the weights take; 0 if that is not known.
	Bytes int64 `json:"bytes"`
	// Used reports whether a request uses it now.
	Used bool `json:"in_use,omitempty"`
}

// Error is an error that occurred in the engine. errors.Is finds [trace.ErrUsage] in it if
// Usage is set.
type Error struct {
	// Message is the text without names of packages.
	Message string
	Usage   bool
	// Reason is what Kind returns.
	Reason errorkind.Kind
	// Wrong is the usage error in it, nil if there is none.
	Wrong *trace.UsageError
}

// Unwrap returns the usage error, whose words depend on who reads them; nil if there is none.
func (e *Error) Unwrap() error {
	if e.Wrong == nil {
		return nil
	}
	return e.Wrong
}

// Kind returns what can be done about the error, for [errorkind.Of]; "" if nothing is known.
func (e *Error) Kind() errorkind.Kind { return e.Reason }

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Text returns the message with options as a user calls them; see [trace.UsageError.Text].
func (e *Error) Text(name func(option string) string) string {
	if e.Wrong == nil {
		return e.Message
	}
	return strings.Replace(e.Message, message.Words(e.Wrong, nil), e.Wrong.Text(name), 1)
}

// Is reports usage errors.
func (e *Error) Is(target error) bool { return e.Usage && target == trace.ErrUsage }

// ReadRequest reads the request of a client, which must not send anything more. Memory grows with
// what arrives. The error is io.EOF if nothing arrives. The request is not checked; see
// [Request.Check].
func ReadRequest(r io.Reader) (q Request, err error) {
	limited := &io.LimitedReader{R: r, N: maxRequest + 1}
	d := json.NewDecoder(limited)
	err = d.Decode(&q)
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case limited.N <= 0:
		return Request{}, pkg.Errorf("the request is longer than the limit of %d bytes", maxRequest)
	case errors.As(err, &syntax), errors.As(err, &kind):
		return Request{}, pkg.Errorf("the request cannot be read: " +
			"the program that sent it is not of the same version, restart the kernel")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return Request{}, pkg.Errorf("the request ends after %d bytes: %w",
			maxRequest+1-limited.N, err)
	case err != nil:
		return Request{}, err
	}
	rest, _ := io.ReadAll(d.Buffered())
	if len(strings.TrimSpace(string(rest))) > 0 {
		return Request{}, pkg.Errorf("the client sent something after its request")
	}
	return q, nil
}
