package corpus

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/atomicfile"
	"github.com/headwater-ml/headwater/internal/message"
)

// Record is one text of an input.
type Record struct {
	// File is the input file, relative to the input, and Number the line or row in it, from 1.
	// Together they name the record.
	File   string `json:"file"`
	Number int64  `json:"number"`
	// ID is what the input calls the record, "" if it has no id.
	ID string `json:"id"`
	// Prompt is what the model reads. Continuation, if not empty, is what it explains; otherwise it
	// explains the text with which it continues the prompt.
	Prompt       string `json:"prompt"`
	Continuation string `json:"continuation,omitempty"`
	// Pair, if not empty, is a second text that the model reads after the prompt.
	Pair string `json:"pair,omitempty"`
	// Messages and Tools are those of a conversation, which the prompt goes on with; nil for none.
	Messages []trace.Message `json:"messages,omitempty"`
	Tools    json.RawMessage `json:"tools,omitempty"`
	// Err is why the record cannot be explained, "" if nothing is wrong with it.
	Err string `json:"err,omitempty"`
}

// shard returns which of n shards a record belongs to: the first 8 bytes of the SHA-256 of its id,
// mod n. A record without an id has its place instead.
func (r *Record) shard(n int) int {
	key := "id\x00" + r.ID
	if r.ID == "" {
		key = fmt.Sprintf("place\x00%s\x00%d", r.File, r.Number)
	}
	sum := sha256.Sum256([]byte(key))
	return int(binary.BigEndian.Uint64(sum[:]) % uint64(n)) //nolint:gosec // n is positive
}

// addID adds a record to a hash of ids; see [Contents].
func addID(h hash.Hash, file string, number int64, id string) {
	fmt.Fprintf(h, "%d %s %d %d %s\n", len(file), file, number, len(id), id)
}

// The formats of an input.
const (
	FormatJSONL   = "jsonl"
	FormatParquet = "parquet"
	FormatText    = "text"
)

// Formats returns the formats of an input.
func Formats() []string { return []string{FormatJSONL, FormatParquet, FormatText} }

// formatByName returns the format of a file by the end of its name, before .gz if it has that, ""
// if that is not known.
func formatByName(name string) string {
	switch strings.ToLower(path.Ext(uncompressedName(name))) {
	case ".jsonl", ".ndjson", ".json":
		return FormatJSONL
	case ".parquet":
		return FormatParquet
	case ".txt", ".text":
		return FormatText
	}
	return ""
}

// LeftOut is something in an input that is not read.
type LeftOut struct {
	// Name is relative to the input, with slashes.
	Name string
	// Why is one of [UnknownName], [PlanFile], [LinkToFolder] and [Unreadable].
	Why string
}

// Why something in an input is not read.
const (
	UnknownName  = "the name does not say what it is"
	PlanFile     = "manifest.json is the name of a plan; name the file alone to read it"
	LinkToFolder = "it is a link to a folder, which is not followed; plan that folder, or copy it"
	Unreadable   = "it is no file, or a link that leads to none"
)

// Source is an input that is open.
type Source struct {
	// LeftOut is what is not read, apart from hidden files and the shards of a corpus.
	LeftOut []LeftOut

	place  *Place
	name   string // what the user calls it
	format string // "" if the names of the files say it
	files  []InputFile
	alone  bool // the input is one file, not a folder
}

// OpenSource finds the files of an input: a file, a folder or a bucket. format is one of [Formats],
// or "" for what the names of the files say.
func OpenSource(ctx context.Context, name, format string) (*Source, error) {
	if format != "" && !slices.Contains(Formats(), format) {
		return nil, pkg.Errorf("format %s is unknown; %s", message.Quote(format),
			message.KnownAre(format, Formats()))
	}
	whole, err := OpenPlace(name)
	if err != nil {
		return nil, err
	}
	s := &Source{place: whole, name: whole.name, format: format}
	all, leftOut, err := whole.list(ctx)
	if err != nil {
		return nil, err
	}
	s.LeftOut = leftOut
	if one, ok := whole.file(all); ok {
		s.place, all = one.place, []object{one.object}
		if format == "" && formatByName(one.name) == "" {
			return nil, pkg.Errorf("the name of the input %s does not say what it is; "+
				"name its format: %s", whole, message.List(Formats()))
		}
	} else if whole.bucket != nil && len(all) == 0 && whole.prefix != "" {
		one, err := whole.parent(ctx)
		if err != nil {
			return nil, err
		}
		s.place, all = one.place, []object{one.object}
	}
	s.alone = s.place != whole // the place of one file is that of its folder
	shards, err := whole.shards(ctx, all)
	if err != nil {
		return nil, err
	}
	for _, o := range all {
		if shards[o.name] {
			continue
		}
		kind := format
		if kind == "" {
			kind = formatByName(o.name)
		}
		switch {
		case path.Base(o.name) == ManifestName && !s.alone:
			s.LeftOut = append(s.LeftOut, LeftOut{o.name, PlanFile})
			continue
		case kind == "":
			s.LeftOut = append(s.LeftOut, LeftOut{o.name, UnknownName})
			continue
		}
		s.files = append(s.files, InputFile{Name: o.name, Format: kind, Bytes: o.bytes})
	}
	if len(s.files) == 0 {
		return nil, s.nothing(whole)
	}
	return s, nil
}

// nothing returns the error of an input without files.
func (s *Source) nothing(whole *Place) error {
	if _, err := os.Stat(whole.folder); whole.bucket == nil && err != nil {
		return pkg.Errorf("the input %s: %w", whole, atomicfile.Cause(err))
	}
	err := pkg.Errorf("the input %s has no files of a known kind (%s); it has %d "+
		"others; give the format, or another input", whole,
		".jsonl, .txt, these with .gz, and .parquet", len(s.LeftOut))
	if len(s.LeftOut) > 0 {
		err = fmt.Errorf("%w; %s is left out: %s", err, s.LeftOut[0].Name, s.LeftOut[0].Why)
	}
	return err
}

// shards returns which files of a place are the shards of a corpus: those with the names of shards
// beside a manifest.
func (p *Place) shards(ctx context.Context, all []object) (map[string]bool, error) {
	size := map[string]int64{} // of the manifests, by their folders
	for _, o := range all {
		if folder, name := path.Split(o.name); name == ManifestName {
			size[folder] = o.bytes
		}
	}
	manifest := map[string]bool{} // whether it is one of this program, by its folder
	shards := map[string]bool{}
	for _, o := range all {
		folder, ok := corpusFolder(o.name)
		if !ok || size[folder] == 0 || size[folder] > maxManifest {
			continue
		}
		if _, known := manifest[folder]; !known {
			text, err := p.read(ctx, folder+ManifestName, maxManifest)
			if err != nil {
				return nil, err
			}
			manifest[folder] = isManifest(text)
		}
		shards[o.name] = manifest[folder]
	}
	return shards, nil
}

// corpusFolder returns the folder of the corpus of which a file has the name of a shard, "" or with
// a slash at the end. ok is false if the name is not that of a shard.
func corpusFolder(name string) (folder string, ok bool) {
	number, err := strconv.Atoi(strings.TrimSuffix(path.Base(name), path.Ext(name)))
	if err != nil || number < 0 {
		return "", false
	}
	folder, ok = strings.CutSuffix(name, ShardName(number))
	return folder, ok && (folder == "" || strings.HasSuffix(folder, "/"))
}

// placedObject is a file and the place that it is in.
type placedObject struct {
	object
	place *Place
}

// file returns the only file of a place whose name is that of a file and not of a folder.
func (p *Place) file(all []object) (placedObject, bool) {
	if p.bucket != nil || len(all) != 1 || all[0].name != "." {
		return placedObject{}, false
	}
	folder := &Place{name: p.name, folder: filepath.Dir(p.folder)}
	return placedObject{object{filepath.Base(p.folder), all[0].bytes}, folder}, true
}

// parent returns the file of a bucket whose key is the folder of the place.
func (p *Place) parent(ctx context.Context) (placedObject, error) {
	key := strings.TrimSuffix(p.prefix, "/")
	request := begin(ctx, 0)
	size, err := p.bucket.Size(request.ctx, key)
	if err = request.end(err); err != nil {
		return placedObject{}, p.failed("be read", "", err)
	}
	folder, name := path.Split(key)
	place := &Place{name: p.name, bucket: p.bucket, prefix: folder}
	return placedObject{object{name, size}, place}, nil
}

// String returns what the user calls the input.
func (s *Source) String() string { return s.name }

// named returns the name under which the source has a file of a plan. If both are one file, it may
// have been renamed.
func (s *Source) named(planned InputFile, plannedFiles int) string {
	if s.alone && plannedFiles == 1 {
		return s.files[0].Name
	}
	return planned.Name
}

// read reads all records of one file, in order, and returns what the file is. name is that of the
// file in the source. Records that are wrong come too, with an Err. The error is one of the file,
// of ctx, or that of each.
func (s *Source) read(
	ctx context.Context, file InputFile, name string, each func(Record) error,
) (InputFile, error) {
	in, err := s.place.open(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return file, fmt.Errorf("%w; the plan has it; read the input that was planned", err)
	}
	if err != nil {
		return file, err
	}
	defer in.Close()
	counted := &countedReader{ctx: ctx, r: in, h: sha256.New(), place: s.place, name: name}
	file.Records = 0
	count := func(r Record) error {
		file.Records++
		return each(r)
	}
	if file.Format == FormatParquet {
		err = s.readParquet(ctx, counted, file, count)
	} else {
		err = s.readText(ctx, counted, file, count)
	}
	if err != nil {
		return file, err
	}
	file.Bytes, file.SHA256 = counted.n, hex.EncodeToString(counted.h.Sum(nil))
	return file, nil
}

// readText reads a file of lines.
func (s *Source) readText(
	ctx context.Context, in *countedReader, file InputFile, each func(Record) error,
) error {
	text, err := s.lines(in)
	if err != nil {
		return err
	}
	read := jsonRecord
	if file.Format == FormatText {
		read = textRecord
	}
	return readLines(ctx, text, file.Name, read, each)
}

// countedReader counts and hashes what is read, names the file in errors, and ends with ctx: a file
// or a line of it may be long.
type countedReader struct {
	ctx   context.Context
	r     io.Reader
	h     hash.Hash // nil: nobody needs the hash
	n     int64
	place *Place
	name  string
	err   error // of a read, other than the end of the file
}

// Read reads.
func (c *countedReader) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		c.err = err
		return 0, err
	}
	n, err := c.r.Read(b)
	c.n += int64(n)
	if c.h != nil {
		c.h.Write(b[:n])
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = c.place.failed("be read", c.name, err)
		c.err = err
	}
	return n, err
}
