// Package bucket links the drivers of s3://, gs://, azblob:// and mem:// buckets into a program that
// imports it. They are some 45 MB, most of it for gs://, so that nothing but the command has them.
package bucket

import (
	_ "gocloud.dev/blob/azureblob" // azblob://
	_ "gocloud.dev/blob/gcsblob"   // gs://
	_ "gocloud.dev/blob/memblob"   // mem://
	_ "gocloud.dev/blob/s3blob"    // s3://
)
