#!/usr/bin/env bash
# Checks the packages with go vet, tests included, and links the command, for systems without cgo:
# the command is complete there but for XLA and, on Windows, notebooks. End-to-end tests and
# benchmarks run on Linux alone, and what they import takes as long as all the rest.
set -euo pipefail
export CGO_ENABLED=0 GOEXPERIMENT=
for platform in linux/arm64 darwin/arm64 windows/amd64; do
	export GOOS=${platform%/*} GOARCH=${platform#*/}
	echo "cross: $platform"
	go list -e ./... | grep -v -e /internal/e2e -e /internal/bench | xargs go vet
	go build -buildvcs=false -o /dev/null ./cmd/headwater
done
