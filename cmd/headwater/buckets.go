//go:build buckets

package main

import (
	"github.com/headwater-ml/headwater/internal/corpus"
	// The drivers of s3://, gs:// and azblob:// make the program 43 MB larger, and each run of it
	// takes 33 MB more memory, so a program has them if it is built with the tag buckets.
	"github.com/headwater-ml/headwater/internal/corpus/bucket"
)

func init() {
	corpus.BucketClients = corpus.Clients{
		Open: bucket.Open, BeforeRead: bucket.WithoutWarnings, Answer: bucket.Answer,
		NoAccount: bucket.NoAccount,
	}
}
