package bucket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"cloud.google.com/go/storage"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"gocloud.dev/blob"
	"gocloud.dev/blob/azureblob"
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/gcp"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
)

// attempts is how often the client of gs:// tries the same request. Those of s3:// and azblob:// do
// so 3 and 4 times by themselves; that of gs:// would not end.
const attempts = 4

// Open is a corpus.Clients.Open: it opens a bucket whose client gives up.
func Open(ctx context.Context, address *url.URL) (*blob.Bucket, error) {
	var b *blob.Bucket
	var err error
	switch {
	case address.Scheme == gcsblob.Scheme:
		b, err = openGoogle(ctx, address)
	case address.Scheme == azureblob.Scheme && azureAccount(address) == "":
		err = errors.New("there is no account of Azure; set AZURE_STORAGE_ACCOUNT, and " +
			"AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN, or log in by az login")
	default:
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

// openGoogle opens a bucket of gs://. The driver's own way writes on standard output if it finds no
// account, where a program may print a result, also if the bucket needs none.
func openGoogle(ctx context.Context, address *url.URL) (*blob.Bucket, error) {
	if address.RawQuery == "anonymous=true" || address.RawQuery == "access_id=-" {
		client := gcp.NewAnonymousHTTPClient(gcp.DefaultTransport())
		return gcsblob.OpenBucket(ctx, client, address.Host, nil)
	}
	if address.RawQuery != "" || os.Getenv("STORAGE_EMULATOR_HOST") != "" {
		return blob.OpenBucket(ctx, address.String())
	}
	account, err := gcp.DefaultCredentials(ctx)
	if err != nil {
		return nil, fmt.Errorf("there is no account of Google Cloud; name its file in "+
			"GOOGLE_APPLICATION_CREDENTIALS, run gcloud auth application-default login, or add "+
			"?anonymous=true for a public bucket (%w)", err)
	}
	var options gcsblob.Options
	if domain, err := account.GetUniverseDomain(); err == nil && domain != "" {
		options.ClientOptions = []option.ClientOption{option.WithUniverseDomain(domain)}
	}
	client, err := gcp.NewHTTPClient(gcp.DefaultTransport(), gcp.CredentialsTokenSource(account))
	if err != nil {
		return nil, err
	}
	return gcsblob.OpenBucket(ctx, client, address.Host, &options)
}

// azureAccount returns the account of a bucket of azblob://, "" if there is none.
func azureAccount(address *url.URL) string {
	return cmp.Or(address.Query().Get("storage_account"), os.Getenv("AZURE_STORAGE_ACCOUNT"),
		os.Getenv("AZURE_STORAGE_CONNECTION_STRING"),
		os.Getenv("AZURE_STORAGEBLOB_CONNECTIONSTRING"))
}

// NoAccount is a corpus.Clients.NoAccount for s3:// and azblob://; Open has looked for gs://.
func NoAccount(err error) bool {
	// The clients have no types for it. These are their words before the reason.
	return strings.Contains(err.Error(), "get credentials: ") ||
		strings.Contains(err.Error(), "DefaultAzureCredential: ")
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
