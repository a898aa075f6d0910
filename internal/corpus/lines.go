package corpus

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/jsonread"
	"github.com/headwater-ml/headwater/internal/message"
)

// maxLine is how long a line of an input may be, in bytes. A text of 1 MiB, the limit of a prompt,
// needs at most 6 MiB in JSON, and the line may have other keys.
const maxLine = 16 << 20

// lineBuffer is how much of a file of lines is read at once, in bytes.
const lineBuffer = 1 << 16

// MaxID is the limit of an id, in bytes: ids of a shard are kept in memory.
const MaxID = 1024

// AsUTF8 reads a text. One in UTF-16 that begins with a byte order mark, as some editors for
// Windows write it, is converted to UTF-8, and a mark is left out.
func AsUTF8(r io.Reader) io.Reader {
	return transform.NewReader(r, unicode.BOMOverride(encoding.Nop.NewDecoder()))
}

// readLines calls each with what read makes of every line that is not empty. A line that is too
// long is a record with an error; no more of it than maxLine is kept.
func readLines(
	ctx context.Context, in io.Reader, name string, read func(*Record, []byte) error,
	each func(Record) error,
) error {
	b := bufio.NewReaderSize(AsUTF8(in), lineBuffer)
	var text []byte
	for number := int64(1); ; number++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		var length int64
		var err error
		text, length, err = readLine(b, text[:0])
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if length == 0 && err != nil {
			return nil
		}
		if length > maxLine || len(bytes.TrimSpace(text)) > 0 {
			if err := each(lineRecord(name, number, text, length, read)); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
}

// lineRecord returns the record of one line. length is how long it was before it was cut.
func lineRecord(
	name string, number int64, text []byte, length int64, read func(*Record, []byte) error,
) Record {
	r := Record{File: name, Number: number}
	var err error
	switch {
	case length > maxLine:
		err = fmt.Errorf("the line has %d bytes; at most %d (%d MiB) are read; split the text",
			length, maxLine, maxLine>>20)
	case !utf8.Valid(text):
		err = errors.New("the line is not valid UTF-8; convert the file")
	default:
		err = read(&r, text)
	}
	if err != nil {
		r.Err = err.Error()
	}
	return r
}

// readLine appends a line to text, without its end, and returns its length with its end. Of a line
// that is longer than maxLine, text has the beginning only. The error is io.EOF after the last
// line, which need not end in a line break.
func readLine(b *bufio.Reader, text []byte) (line []byte, length int64, err error) {
	for {
		piece, err := b.ReadSlice('\n')
		length += int64(len(piece))
		if length <= maxLine {
			text = append(text, piece...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
		return text, length, err
	}
}

// textRecord reads a line of a text.
func textRecord(r *Record, text []byte) error {
	r.ID = r.File + ":" + strconv.FormatInt(r.Number, 10)
	if len(r.ID) > MaxID {
		return errTooLong(r)
	}
	r.Prompt = string(text)
	return nil
}

// jsonRecord reads a line of JSON. Keys that mean nothing here are left alone. The id is kept even
// if something else is wrong, so that the record is found by it.
func jsonRecord(r *Record, text []byte) error {
	keys, err := readKeys(text)
	if err != nil {
		return err
	}
	if err := r.setID(keys["id"]); err != nil {
		return err
	}
	return r.SetTexts(keys)
}

// readKeys returns the values of the keys that a record may have. One of them that comes twice is
// an error: which value is meant?
func readKeys(text []byte) (map[string]json.RawMessage, error) {
	keys, others := map[string]json.RawMessage{}, 0
	r := jsonread.Lenient(text)
	r.Again = func(key string) error {
		if slices.Contains(inputColumns, key) {
			return fmt.Errorf("key %q comes twice", key)
		}
		return nil
	}
	err := r.Object(func(key string) error {
		value, err := r.Raw()
		if slices.Contains(inputColumns, key) {
			keys[key] = value
		} else if others++; others <= mostNamed { // for a message
			keys[key] = nil
		}
		return err
	})
	if err == nil {
		err = r.End()
	}
	if err != nil {
		return nil, fmt.Errorf(`the line cannot be read: %w; want one object a line, such as `+
			`{"id": …, "text": …}`, err)
	}
	return keys, nil
}

// absent is whether a key is missing or null.
func absent(value json.RawMessage) bool { return value == nil || string(value) == "null" }

// setID sets the id from JSON: a string or a whole number.
func (r *Record) setID(value json.RawMessage) error {
	if absent(value) {
		return errors.New("there is no id; give each record one")
	}
	if value[0] == '"' {
		id, err := stringOf("id", value)
		if err != nil {
			return err
		}
		r.ID = id
	} else if n, ok := message.WholeNumber(string(value)); ok {
		r.ID = strconv.FormatInt(n, 10)
	} else if n, err := strconv.ParseUint(string(value), 10, 64); err == nil {
		r.ID = strconv.FormatUint(n, 10)
	} else {
		return fmt.Errorf("the id is %s; want a string or a whole number of at most 64 bits",
			message.KindOfJSON(value))
	}
	if r.ID == "" {
		return errors.New("the id is empty; give each record one")
	}
	if len(r.ID) > MaxID {
		return errTooLong(r)
	}
	return nil
}

// errTooLong removes an id that is too long to be kept.
func errTooLong(r *Record) error {
	err := fmt.Errorf("the id has %d bytes; at most %d", len(r.ID), MaxID)
	r.ID = ""
	return err
}

// The keys of a record, as data sets call them: what the model reads, what it explains, and the
// turns of a conversation. A record has at most one of each.
var (
	promptKeys       = []string{"prompt", "text", "question"}
	continuationKeys = []string{"continuation", "completion", "answer"}
	messageKeys      = []string{"messages", "conversations"}
	inputColumns     = slices.Concat([]string{"id"}, promptKeys, continuationKeys, messageKeys,
		[]string{"tools", "pair"})
)

// mostNamed is how many keys that are not read a message names.
const mostNamed = 10

// TextKeys returns the keys that [Record.SetTexts] reads.
func TextKeys() []string { return inputColumns[1:] }

// SetTexts sets prompt, continuation and conversation from the keys of a record. Messages may be
// JSON in a string. If they end with what the assistant says, that is the continuation. The error
// names the keys that are there if none has a text.
func (r *Record) SetTexts(keys map[string]json.RawMessage) error {
	one := func(names []string) (found, text string, err error) {
		for _, name := range names {
			s, err := stringOf(name, keys[name])
			if err != nil {
				return "", "", err
			}
			if s != "" && text != "" {
				return "", "", fmt.Errorf("there are a %s and a %s, which mean the same; give one "+
					"of them", found, name)
			}
			if s != "" {
				found, text = name, s
			}
		}
		return found, text, nil
	}
	key, prompt, err := one(promptKeys)
	if err != nil {
		return err
	}
	_, continuation, err := one(continuationKeys)
	if err != nil {
		return err
	}
	for _, name := range messageKeys {
		if err := r.setMessages(name, keys[name]); err != nil {
			return err
		}
	}
	if err := r.setTools(keys["tools"]); err != nil {
		return err
	}
	switch {
	case prompt == "" && r.Messages == nil:
		return fmt.Errorf("there is no text; give a prompt or a text that is not empty, or "+
			"messages; the keys are %s", message.List(slices.Sorted(maps.Keys(keys))))
	case key == "text" && continuation != "":
		return errors.New("a continuation needs a prompt, not a text")
	}
	if last := len(r.Messages) - 1; prompt == "" && r.Messages[last].Role == "assistant" {
		if continuation != "" {
			return errors.New("there are a continuation and messages that end with the " +
				"assistant's, which mean the same; give one of them")
		}
		if r.Messages[last].Content == "" || bytes.Contains(r.Messages[last].Object,
			[]byte(`"tool_calls"`)) {
			return errors.New("the messages end with the assistant's, which is not a text " +
				"alone, so it cannot be explained; leave it out to let the model answer")
		}
		continuation, r.Messages = r.Messages[last].Content, r.Messages[:last]
	}
	r.Prompt, r.Continuation = prompt, continuation
	r.Pair, err = stringOf("pair", keys["pair"])
	return err
}

// unquoted returns JSON that may be in a string, nil if it is absent.
func unquoted(name string, value json.RawMessage) (json.RawMessage, error) {
	if absent(value) || value[0] != '"' {
		return value, nil
	}
	text, err := stringOf(name, value)
	if text == "" {
		return nil, err
	}
	return json.RawMessage(text), err
}

// setTools sets the tools of a conversation from their key, which comes before those that are with
// the messages.
func (r *Record) setTools(value json.RawMessage) error {
	tools, err := unquoted("tools", value)
	if err != nil {
		return err
	}
	if !absent(tools) {
		r.Tools = tools
	}
	return trace.Conversation{Tools: r.Tools}.Check()
}

// setMessages sets the messages of a conversation, and tools that are with them, from the value of
// a key.
func (r *Record) setMessages(name string, value json.RawMessage) error {
	value, err := unquoted(name, value)
	if err != nil || absent(value) {
		return err
	}
	c, err := trace.ParseConversation(value)
	if err == nil {
		err = message.WholeCharacters(value)
	}
	switch {
	case err != nil:
		return fmt.Errorf("the key %q: %w", name, err)
	case r.Messages != nil:
		return errors.New("there are messages and conversations, which mean the same; give one " +
			"of them")
	case len(c.Messages) == 0:
		return fmt.Errorf("the key %q has no messages", name)
	}
	r.Messages, r.Tools = c.Messages, c.Tools
	return nil
}

// stringOf returns the string of a key, "" if it is missing.
func stringOf(key string, value json.RawMessage) (string, error) {
	if absent(value) {
		return "", nil
	}
	if value[0] != '"' {
		return "", fmt.Errorf("the key %q is %s; want a string", key, message.KindOfJSON(value))
	}
	if err := message.WholeCharacters(value); err != nil {
		return "", fmt.Errorf("the key %q: %w", key, err)
	}
	var s string
	if err := json.Unmarshal(value, &s); err != nil {
		return "", fmt.Errorf("the key %q is not valid JSON", key)
	}
	return s, nil
}
