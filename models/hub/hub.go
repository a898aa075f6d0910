// Package hub finds the files of a model that is named as on the Hugging Face Hub, in the cache that the Python tools use,
// and downloads what is not there.
//
//	opts, err := hub.FromEnvironment()
//	if err != nil {
//		return err
//	}
//	dir, err := hub.Resolve(ctx, "openai-community/gpt2", opts) // a directory with config.json, model.safetensors and so on
//
// A model that is complete in the cache is used without any request, whatever the Hub holds by now; [Options.Update] asks. Of
// a model that is not complete the files that this project reads are downloaded, and no others: settings, tokenizer, chat
// templates and safetensors, never a pickle, which can run code when it is read.
//
// # What is certain of a file
//
// A file appears under snapshots only when its size and hash are those that the Hub has for it: SHA-256 for large files, the
// git blob id for others. Until then its bytes stand in blobs/HASH.incomplete, under a lock, and a later call, of any process,
// goes on from there. Because the name is the hash, bytes of another version are never continued; a range is therefore asked
// for without If-Range, whose answer depends on the storage behind the Hub and not on the Hub. The name of a revision is
// written when all is there.
//
// What becomes of a file later is noticed by [Options.Check] alone: it reads what is there, compares it with the hash that the blob is
// named by, and fetches again what differs. The command headwater download does so.
//
// The token is sent to the host of the endpoint alone, not to those that it redirects to, subdomains included.
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
// The module github.com/gomlx/go-huggingface (v0.4.0) writes this layout too. It asks the network for every file even when all are
// there, checks neither size nor hash, does not resume, retry or follow a redirect, prints to standard output, and brings
// some thirty modules; what is left to use is the names of the folders.
package hub

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// DefaultEndpoint is the public Hub.
const DefaultEndpoint = "https://huggingface.co"

// Options says where to look. [FromEnvironment] fills them as the user has set up the Python tools.
type Options struct {
	// Cache is the folder that holds models--ORG--NAME. It must be set.
	Cache string
	// Endpoint is the Hub's address; empty is [DefaultEndpoint].
	Endpoint string
	// Token is sent to the endpoint, if it is not empty.
	Token string
	// Offline forbids requests.
	Offline bool
	// Update asks the Hub which commit the revision names now, even if an earlier one is complete.
	Update bool
	// Check holds every file that is in the cache to its hash, which reads it whole, and fetches again what is broken.
	Check bool
	// Patience is how long a server may be silent; 0 is 10 seconds.
	Patience time.Duration
	// MinSpeed is how many bytes a second a file must come with, on average over a minute; a slower
	// download ends with an error, and a later call goes on where it stopped. 0 is 1024, and a negative
	// number no limit.
	MinSpeed int64
	// Progress, if not nil, is called while files are downloaded or checked, from the goroutine that called [Resolve].
	Progress func(Progress)
}

// Progress is how far the download of one file, or its check, has come.
type Progress struct {
	// File is its name in the repository.
	File string
	// Done of Size bytes are there. What an earlier call left counts; a restart takes it back.
	Done, Size int64
	// Number is which file of Count it is, from 1; both are 0 while it is checked. Count grows once, when the list of shards is read.
	Number, Count int
	// Checking is whether the file is in the cache and read to be checked.
	Checking bool
}

// Ref is the name of a model at a revision.
type Ref struct {
	// Repo is ORG/NAME, or NAME alone as old models have it.
	Repo string
	// Revision is a branch, a tag or a commit; "main" if none was given.
	Revision string
}

func (r Ref) String() string {
	if r.Revision == mainRevision {
		return r.Repo
	}
	return r.Repo + "@" + r.Revision
}

const mainRevision = "main"

var (
	repoName     = regexp.MustCompile(`^([A-Za-z0-9_][A-Za-z0-9_.-]{0,95}/)?[A-Za-z0-9_][A-Za-z0-9_.-]{0,95}$`)
	revisionName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+/-]{0,199}$`)
	commitName   = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// ParseRef reads ORG/NAME, ORG/NAME@REVISION, NAME or NAME@REVISION. It returns an error if that cannot be a model of the Hub;
// whether there is one only [Resolve] finds out.
func ParseRef(s string) (Ref, error) {
	repo, revision, given := strings.Cut(s, "@")
	if !given {
		revision = mainRevision
	}
	if !repoName.MatchString(repo) || badName(repo) || strings.HasSuffix(repo, ".git") {
		return Ref{}, fmt.Errorf("hub: %q is not the name of a model: want ORG/NAME or NAME, of letters, digits, - _ . "+
			"(at most 96 each, no -- or .., neither - nor . at an end)", shortened(repo))
	}
	if !revisionName.MatchString(revision) || badPath(revision) {
		return Ref{}, fmt.Errorf("hub: %q is not a revision: want a branch, a tag or a commit of 40 hexadecimal digits", shortened(revision))
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

// badPath returns whether a revision, which becomes a path below refs, would leave it or be taken for something else there.
func badPath(revision string) bool {
	return strings.Contains(revision, "..") || strings.Contains(revision, "//") || strings.Contains(revision, "/.") ||
		strings.HasSuffix(revision, "/") || strings.HasSuffix(revision, ".") || strings.HasSuffix(revision, ".lock")
}

// shortened is a text of at most 100 bytes for an error.
func shortened(s string) string {
	if len(s) > 100 {
		return s[:100] + "…"
	}
	return s
}

// Resolve returns the directory of a model: that of the cache if it is complete there, otherwise after downloading what is
// missing. ref is as [ParseRef] reads it.
//
// Complete are config.json, the weights with all shards, and what else a model has as far as the cache knows. If it cannot know
// (a cache that another program filled by single files), the Hub is asked once, and the directory is used as it is where it
// cannot be reached.
//
// It returns an error that says what is missing or broken and what to do: offline, without network, without access, for a name, revision
// or file that is not there, for bytes that are not those that the Hub promised, for a download that is too slow, and for a full disk. When ctx ends, the error
// wraps ctx.Err(). After an error the next call goes on where this one stopped. It is safe for concurrent use, also by several
// processes.
func Resolve(ctx context.Context, ref string, opts Options) (dir string, err error) {
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
	if ctx.Err() != nil { // what was not checked to its end looks broken
		return "", fmt.Errorf("hub: %s: %w", c.ref, ctx.Err())
	}
	if have.complete() && !c.opts.Update {
		return c.repo.snapshot(commit), nil
	}
	if c.opts.Offline {
		if have.usable() {
			return c.repo.snapshot(commit), nil
		}
		return "", fmt.Errorf("hub: %s: %s, and HF_HUB_OFFLINE forbids to download it: set HF_HUB_OFFLINE=0, or copy %s from a machine that has it",
			c.ref, have.describe(), c.repo.dir)
	}
	revision := c.ref.Revision
	if (have.usable() || len(have.broken) > 0) && !c.opts.Update {
		revision = commit // the rest of what is there, not of something newer
	}
	dir, err := c.download(ctx, revision)
	if err != nil && have.usable() && !c.opts.Update && ctx.Err() == nil {
		return c.repo.snapshot(commit), nil
	}
	var away *unreachable
	if errors.As(err, &away) {
		return "", fmt.Errorf("hub: %s: %s, and %w: check the network, or set HF_ENDPOINT to a mirror", c.ref, have.describe(), away)
	}
	return dir, err
}

func newClient(ref Ref, opts Options) (*client, error) {
	if opts.Cache == "" {
		return nil, errors.New("hub: no cache folder was given")
	}
	if opts.Endpoint == "" {
		opts.Endpoint = DefaultEndpoint
	}
	if opts.Patience == 0 {
		opts.Patience = 10 * time.Second
	}
	if opts.MinSpeed == 0 {
		opts.MinSpeed = defaultMinSpeed
	}
	endpoint, err := url.Parse(strings.TrimRight(opts.Endpoint, "/"))
	if err != nil || endpoint.Host == "" || (endpoint.Scheme != "https" && endpoint.Scheme != "http") {
		return nil, fmt.Errorf("hub: endpoint %q is not an address such as %s; look at HF_ENDPOINT", shortened(opts.Endpoint), DefaultEndpoint)
	}
	c := &client{ref: ref, opts: opts, endpoint: endpoint, repo: newRepo(opts.Cache, ref), wait: backoff}
	c.window, c.lockPatience = speedWindow, lockPatience
	c.http, c.stop = newHTTP(endpoint, opts)
	return c, nil
}
