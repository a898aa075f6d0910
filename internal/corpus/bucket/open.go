package bucket

import (
	"cmp"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"
)

// attempts is how often the client sends a request that fails in a way that may pass.
const attempts = 4

// settings are those that an address may have after a question mark.
type settings struct {
	region, endpoint, profile string
	anonymous                 bool
	lookup                    minio.BucketLookupType
}

// Open opens the bucket of an address such as s3://bucket?region=eu-west-1, whose path is not
// looked at. It asks the server for nothing. The address may have these settings:
//
//   - region; without one, AWS_REGION and AWS_DEFAULT_REGION name it, or the server is asked;
//   - endpoint, the server if it is not Amazon's, such as https://host:9000; without one,
//     AWS_ENDPOINT_URL_S3 and AWS_ENDPOINT_URL name it;
//   - use_path_style, whether the name of the bucket is in the path (true) or in the name of the
//     host (false) of a request; without it, it is in the path except for Amazon and Google;
//   - profile, a section of the files of accounts;
//   - anonymous, true for a bucket that needs no account.
func Open(address *url.URL) (*Bucket, error) {
	if err := s3utils.CheckValidBucketName(address.Host); err != nil {
		return nil, pkg.Errorf("%w", err)
	}
	set, err := parse(address.RawQuery)
	if err != nil {
		return nil, err
	}
	host, secure, err := server(set.endpoint)
	if err != nil {
		return nil, err
	}
	transport, err := newTransport(secure)
	if err != nil {
		return nil, err
	}
	account := credentials.New(newAccount(set.profile))
	if set.anonymous {
		account = credentials.NewStatic("", "", "", credentials.SignatureAnonymous)
	}
	client, err := minio.New(host, &minio.Options{
		Creds: account, Secure: secure, Transport: transport, Region: set.region,
		BucketLookup: set.lookup, MaxRetries: attempts,
	})
	if err != nil {
		return nil, pkg.Errorf("%w", err)
	}
	return &Bucket{minio.Core{Client: client}, address.Host}, nil
}

// parse reads the settings of an address.
func parse(query string) (settings, error) {
	set := settings{
		region:   cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")),
		endpoint: cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL")),
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return set, pkg.Errorf("the settings %q: %w", query, err)
	}
	for name := range values {
		value := values.Get(name)
		var pathStyle bool
		var err error
		switch name {
		case "region":
			set.region = value
		case "endpoint":
			set.endpoint = value
		case "profile":
			set.profile = value
		case "anonymous":
			set.anonymous, err = strconv.ParseBool(value)
		case "use_path_style":
			pathStyle, err = strconv.ParseBool(value)
			set.lookup = minio.BucketLookupDNS
			if pathStyle {
				set.lookup = minio.BucketLookupPath
			}
		default:
			err = errors.New("there is no such setting; known are anonymous, endpoint, profile, " +
				"region and use_path_style")
		}
		if err != nil {
			return set, pkg.Errorf("%s=%.60q: %w", name, value, err)
		}
	}
	return set, nil
}

// server returns the host of an endpoint, Amazon's if it is "", and whether it is reached by HTTPS.
func server(endpoint string) (host string, secure bool, err error) {
	scheme, host, ok := strings.Cut(endpoint, "://")
	if !ok {
		scheme, host = "https", endpoint
	}
	if scheme != "https" && scheme != "http" {
		return "", false, pkg.Errorf("the endpoint %.60q; want https://host:port", endpoint)
	}
	return cmp.Or(strings.TrimSuffix(host, "/"), "s3.amazonaws.com"), scheme == "https", nil
}

// ErrNoAccount is the error of every request if neither the environment nor the files nor the
// machine names an account.
var ErrNoAccount = errors.New("no keys in the environment, the profile or the machine")

// account finds the keys that sign requests: those of the first provider that has any. The client's
// own chain takes half a pair, and goes on without keys if there are none.
type account struct {
	providers []credentials.Provider
	current   credentials.Provider // nil until there are keys
}

// RetrieveWithCredContext returns the keys, or [ErrNoAccount].
func (a *account) RetrieveWithCredContext(c *credentials.CredContext) (credentials.Value, error) {
	for _, p := range a.providers {
		keys, err := p.RetrieveWithCredContext(c)
		if err == nil && keys.AccessKeyID != "" && keys.SecretAccessKey != "" {
			a.current = p
			return keys, nil
		}
	}
	return credentials.Value{}, ErrNoAccount
}

// Retrieve returns the keys.
func (a *account) Retrieve() (credentials.Value, error) { return a.RetrieveWithCredContext(nil) }

// IsExpired reports whether the keys have to be found again.
func (a *account) IsExpired() bool { return a.current == nil || a.current.IsExpired() }

// newAccount returns the account of a profile. If it is "", the environment decides.
func newAccount(profile string) *account {
	named := &credentials.FileAWSCredentials{Profile: profile}
	if profile != "" {
		return &account{providers: []credentials.Provider{named, config(profile)}}
	}
	profile = cmp.Or(os.Getenv("AWS_PROFILE"), "default")
	a := &account{providers: []credentials.Provider{&credentials.EnvAWS{}, named, config(profile)}}
	if os.Getenv("AWS_EC2_METADATA_DISABLED") != "true" ||
		os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE") != "" ||
		os.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") != "" ||
		os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI") != "" {
		// The keys of a machine or a container come from a server near it.
		client := &http.Client{Timeout: 5 * time.Second}
		a.providers = append(a.providers, &credentials.IAM{Client: client})
	}
	return a
}

// config returns a profile of the file of settings, where its section has another name than in that
// of accounts.
func config(profile string) credentials.Provider {
	file := os.Getenv("AWS_CONFIG_FILE")
	if home, err := os.UserHomeDir(); file == "" && err == nil {
		file = filepath.Join(home, ".aws", "config")
	}
	if profile != "default" {
		profile = "profile " + profile
	}
	return &credentials.FileAWSCredentials{Filename: file, Profile: profile}
}

// transport sends requests. The client would put the error of a connection that ends into words of
// its own, with the address of the request, and lose its type.
type transport struct{ http.RoundTripper }

var errEnded = errors.New("the server ended the connection")

// RoundTrip sends a request, and reads nothing of its body after it returns.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		b := &body{ReadCloser: r.Body}
		defer b.end()
		own := *r // a transport must not change the request
		own.Body, r = b, &own
	}
	reply, err := t.RoundTripper.RoundTrip(r)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errEnded
	}
	return reply, err
}

// body is the body of a request. If a server answers before it has read all, the standard transport
// may go on reading while the client rewinds the same reader for the next attempt.
type body struct {
	io.ReadCloser
	mu    sync.Mutex
	ended bool
}

// Read reads, or fails after the end of the request.
func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return 0, errEnded
	}
	return b.ReadCloser.Read(p)
}

func (b *body) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
}

// newTransport returns a transport that trusts the certificates of AWS_CA_BUNDLE as well.
func newTransport(secure bool) (http.RoundTripper, error) {
	t, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, pkg.Errorf("%w", err)
	}
	bundle := os.Getenv("AWS_CA_BUNDLE")
	if !secure || bundle == "" {
		return transport{t}, nil
	}
	text, err := os.ReadFile(bundle)
	if err != nil {
		return nil, pkg.Errorf("AWS_CA_BUNDLE: %w", err)
	}
	if t.TLSClientConfig.RootCAs == nil {
		if t.TLSClientConfig.RootCAs, err = x509.SystemCertPool(); err != nil {
			return nil, pkg.Errorf("AWS_CA_BUNDLE: %w", err)
		}
	}
	if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM(text) {
		return nil, pkg.Errorf("AWS_CA_BUNDLE: %s has no certificates", bundle)
	}
	return transport{t}, nil
}
