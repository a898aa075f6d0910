// Package hub finds the files of a model by its name on the Hugging Face Hub. It uses the cache of
// the Python tools and downloads what is missing.
//
//	opts, err := hub.FromEnvironment()
//	if err != nil {
//		return err
//	}
//	dir, err := hub.Resolve(ctx, "openai-community/gpt2", opts) // a folder
//
// If a model is complete in the cache, it is used without any request, even if the Hub has a newer
// version; [Options.Update] asks for that. If it is not complete, only the files that this project
// reads are downloaded: settings, tokenizer, chat templates and safetensors. Pickle files are never
// downloaded, because reading one can run code.
//
// # What is certain of a file
//
// A file appears under snapshots only when its size and its hash are those that the Hub names:
// SHA-256 for large files, the git blob id for others. Until then its bytes are in
// blobs/HASH.incomplete, under a lock, and a later call from any process continues there. Because
// the name is the hash, a download never continues with bytes of another version. Ranges are
// therefore requested without If-Range: its answer depends on the storage that the Hub uses, not on
// the Hub. The revision is recorded when all files are complete.
//
// A file that is damaged later is noticed only with [Options.Check]. It reads every file in the
// cache, compares it with the hash that the blob is named by, and downloads again what differs.
//
// The token is sent to the host of the endpoint only. Hosts that the endpoint redirects to do not
// get it, nor do subdomains.
//
// # Layout
//
//	models--ORG--NAME/refs/REVISION           the commit, as text
//	models--ORG--NAME/snapshots/COMMIT/FILE   a link to ../../blobs/HASH
//	models--ORG--NAME/blobs/HASH
//	models--ORG--NAME/.no_exist/COMMIT/FILE   empty: the commit has no such file
//	.locks/models--ORG--NAME/HASH.lock
//
// # Why not a library
//
// The module github.com/gomlx/go-huggingface (v0.4.0) uses the same layout. It is not used here: it
// sends a request for every file even if all are in the cache, checks neither size nor hash, does
// not continue or repeat a download, does not follow redirects, prints to standard output, and
// depends on some thirty modules. Little would remain but the names of the folders.
package hub

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/headwater-ml/headwater/internal/message"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("hub")

// defaultEndpoint is the address of the public Hub.
const defaultEndpoint = "https://huggingface.co"

// Options says where to look for a model. [FromEnvironment] returns the options that the user has
// set for the Python tools.
type Options struct {
	// Cache is the folder that contains the folders models--ORG--NAME. It is required.
	Cache string
	// Models is the folder in which [Local] looks for short names. Empty means none.
	Models string
	// Endpoint is the address of the Hub. Empty means the public Hub.
	Endpoint string
	// Token, if it is not empty, is sent to the endpoint.
	Token string
	// Offline forbids all requests.
	Offline bool
	// Update asks the Hub which commit the revision means now, even if an earlier commit is
	// complete in the cache.
	Update bool
	// Check reads every file of the model in the cache, compares it with its hash, and downloads
	// again what is broken.
	Check bool
	// Patience is how long a server may be silent. 0 means 10 seconds.
	Patience time.Duration
	// MinSpeed is the lowest speed of a download in bytes a second, on average over a minute. A
	// slower download ends with an error, and a later call continues where it stopped. 0 means
	// 1024, and a negative number means no limit.
	MinSpeed int64
	// Progress, if it is not nil, is called while files are downloaded or checked, by the goroutine
	// that called [Resolve].
	Progress func(Progress)
}

// Progress is the state of one file that is being downloaded or checked.
type Progress struct {
	// File is the name of the file in the repository.
	File string
	// Done is how many of the Size bytes are present. Bytes that an earlier call left are included.
	// Done becomes smaller if a download starts again.
	Done, Size int64
	// Number says that this is file Number of Count, from 1. Count grows once, when the list of
	// shards has been read. Both are 0 while a file is checked.
	Number, Count int
	// Checking says that the file is in the cache and is being checked.
	Checking bool
}

// Ref is the name of a model and a revision.
type Ref struct {
	// Repo is ORG/NAME, or only NAME for some old models.
	Repo string
	// Revision is a branch, a tag or a commit. It is "main" if the name has none.
	Revision string
}

func (r Ref) String() string {
	if r.Revision == mainRevision {
		return r.Repo
	}
	return r.Repo + "@" + r.Revision
}

const mainRevision = "main"

// namePart matches an organisation or the name of a model.
const namePart = `[A-Za-z0-9_][A-Za-z0-9_.-]{0,95}`

var (
	repoName     = regexp.MustCompile(`^(` + namePart + `/)?` + namePart + `$`)
	revisionName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+/-]{0,199}$`)
	commitName   = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// ParseRef reads ORG/NAME, ORG/NAME@REVISION, NAME or NAME@REVISION, where NAME may be a short name
// ([Known]). It returns an error if the Hub cannot have a model with that name. Whether there is
// such a model is found out by [Resolve].
func ParseRef(s string) (Ref, error) {
	repo, revision, given := strings.Cut(s, "@")
	repo = cmp.Or(known[repo], repo)
	if !given {
		revision = mainRevision
	}
	if !repoName.MatchString(repo) || badName(repo) || strings.HasSuffix(repo, ".git") {
		return Ref{}, pkg.Errorf("%q is not the name of a model: want ORG/NAME or NAME, of "+
			"letters, digits, - _ . (at most 96 each, no -- or .., neither - nor . at an end)",
			shortened(repo))
	}
	if !revisionName.MatchString(revision) || badPath(revision) {
		return Ref{}, pkg.Errorf("%q is not a revision: want a branch, a tag or a commit of "+
			"40 hexadecimal digits", shortened(revision))
	}
	return Ref{Repo: repo, Revision: revision}, nil
}

func badName(repo string) bool {
	for part := range strings.SplitSeq(repo, "/") {
		if strings.HasSuffix(part, ".") || strings.HasSuffix(part, "-") {
			return true
		}
	}
	return strings.Contains(repo, "..") || strings.Contains(repo, "--")
}

// badPath returns whether a revision cannot be used as a path below refs, because it would lead out
// of refs or mean something else there.
func badPath(revision string) bool {
	return strings.Contains(revision, "..") || strings.Contains(revision, "//") ||
		strings.Contains(revision, "/.") ||
		strings.HasSuffix(revision, "/") || strings.HasSuffix(revision, ".") ||
		strings.HasSuffix(revision, ".lock")
}

// shortened returns a text cut to at most 100 bytes, for an error.
func shortened(s string) string {
	if len(s) > 100 {
		return s[:100] + "…"
	}
	return s
}

// Resolve returns the directory of a model in the cache. If the model is not complete there, it
// downloads what is missing first. ref is as in [ParseRef]. For a short name, it is the file that
// [Local] returns, if there is one, whatever else opts say.
//
// A model is complete if it has config.json, all weights, and all other files that it has on the
// Hub, as far as the cache knows them. If the cache cannot know them, because another program put
// single files there, the Hub is asked once; if the Hub cannot be reached, the directory is used as
// it is.
//
// The error names what is missing or broken and what to do: offline, no network, no access, an
// unknown name, revision or file, bytes that differ from what the Hub promised, a download that is
// too slow, a full disk. If ctx ends, the error wraps ctx.Err(). After an error, the next call
// continues where this one stopped. Resolve is safe for concurrent use, also by several processes.
func Resolve(ctx context.Context, ref string, opts Options) (dir string, err error) {
	if file, err := Local(ref, opts); file != "" || err != nil {
		return file, err
	}
	r, err := ParseRef(ref)
	if err != nil {
		return "", err
	}
	c, err := newClient(r, opts)
	if err != nil {
		return "", err
	}
	defer c.stop()
	return c.resolve(ctx)
}

func (c *client) resolve(ctx context.Context) (string, error) {
	commit, err := c.repo.commit(c.ref.Revision)
	if err != nil {
		return "", err
	}
	if c.opts.Check {
		c.repo.check = &check{ctx: ctx, report: c.opts.Progress, passed: map[string]bool{}}
	}
	have, err := c.repo.inspect(commit)
	if err != nil {
		return "", err
	}
	if ctx.Err() != nil { // an unfinished check makes files look broken
		return "", pkg.Errorf("%s: %w", c.ref, ctx.Err())
	}
	if have.complete() && !c.opts.Update {
		return c.repo.snapshot(commit), nil
	}
	if c.opts.Offline {
		if have.usable() {
			return c.repo.snapshot(commit), nil
		}
		return "", pkg.Errorf("%s: %s, and HF_HUB_OFFLINE forbids downloading it: set "+
			"HF_HUB_OFFLINE=0, or copy %s from a machine that has it",
			c.ref, have.describe(), c.repo.dir)
	}
	revision := c.ref.Revision
	if (have.usable() || len(have.broken) > 0) && !c.opts.Update {
		revision = commit // complete this commit, not a newer one
	}
	dir, err := c.download(ctx, revision)
	if err != nil && have.usable() && !c.opts.Update && ctx.Err() == nil {
		return c.repo.snapshot(commit), nil
	}
	var away *unreachable
	if errors.As(err, &away) {
		return "", pkg.Errorf("%s: %s, and %w: check the network, or set HF_ENDPOINT to a "+
			"mirror", c.ref, have.describe(), away)
	}
	return dir, err
}

func newClient(ref Ref, opts Options) (*client, error) {
	if opts.Cache == "" {
		return nil, pkg.Errorf("no cache folder was given")
	}
	if opts.Endpoint == "" {
		opts.Endpoint = defaultEndpoint
	}
	if opts.Patience == 0 {
		opts.Patience = 10 * time.Second
	}
	if opts.MinSpeed == 0 {
		opts.MinSpeed = defaultMinSpeed
	}
	endpoint, err := url.Parse(strings.TrimRight(opts.Endpoint, "/"))
	if err != nil || endpoint.Host == "" ||
		(endpoint.Scheme != "https" && endpoint.Scheme != "http") {
		return nil, pkg.Errorf("endpoint %q is not an address such as %s; look at HF_ENDPOINT",
			shortened(opts.Endpoint), defaultEndpoint)
	}
	c := &client{
		ref: ref, opts: opts, endpoint: endpoint, repo: newRepo(opts.Cache, ref),
		wait: backoff,
	}
	c.window, c.lockPatience = speedWindow, lockPatience
	c.http, c.stop = newHTTP(endpoint, opts)
	return c, nil
}
