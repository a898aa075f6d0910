package bucket

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"

	"cloud.google.com/go/storage"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"gocloud.dev/blob"
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/gcp"
	"google.golang.org/api/googleapi"
)

// attempts is how often the client of gs:// tries the same request. Those of s3:// and azblob:// do
// so 3 and 4 times by themselves; that of gs:// would not end.
const attempts = 4

// Open is a corpus.Clients.Open: it opens a bucket whose client gives up.
func Open(ctx context.Context, address *url.URL) (*blob.Bucket, error) {
	var b *blob.Bucket
	var err error
	if address.Scheme == gcsblob.Scheme {
		b, err = openGoogle(ctx, address)
	} else {
		b, err = blob.OpenBucket(ctx, address.String())
	}
	if err != nil {
		return nil, err
	}
	if client := (*storage.Client)(nil); b.As(&client) {
		client.SetRetry(storage.WithMaxAttempts(attempts))
	}
	return b, nil
}

// openGoogle opens a bucket of gs://. The driver writes on standard output if there is no account,
// where a program may print a result, also if the bucket needs none.
func openGoogle(ctx context.Context, address *url.URL) (*blob.Bucket, error) {
	if os.Getenv("STORAGE_EMULATOR_HOST") != "" {
		return blob.OpenBucket(ctx, address.String())
	}
	if address.RawQuery == "anonymous=true" || address.RawQuery == "access_id=-" {
		client := gcp.NewAnonymousHTTPClient(gcp.DefaultTransport())
		return gcsblob.OpenBucket(ctx, client, address.Host, nil)
	}
	if _, err := gcp.DefaultCredentials(ctx); err != nil {
		return nil, fmt.Errorf("there is no account of Google Cloud; name its file in "+
			"GOOGLE_APPLICATION_CREDENTIALS, run gcloud auth application-default login, or add "+
			"?anonymous=true for a public bucket (%w)", err)
	}
	return blob.OpenBucket(ctx, address.String())
}

// Answer is a corpus.Clients.Answer for servers of Google and Azure.
func Answer(err error) (status int, code, message string) {
	if google := (*googleapi.Error)(nil); errors.As(err, &google) {
		return google.Code, "", google.Message
	}
	if azure := (*azcore.ResponseError)(nil); errors.As(err, &azure) {
		return azure.StatusCode, azure.ErrorCode, ""
	}
	if errors.Is(err, storage.ErrBucketNotExist) {
		return http.StatusNotFound, "NoSuchBucket", ""
	}
	return 0, "", ""
}
