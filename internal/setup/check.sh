#!/usr/bin/env bash
# What a contributor runs before sending: format, vet, the race detector on what does not import
# GoMLX, linters, the workflows, the configuration of releases.
set -euo pipefail

# Checked first, so that nobody waits for the rest in vain.
if ! command -v golangci-lint >/dev/null; then
	echo "check: golangci-lint is not installed; run make setup" >&2
	exit 1
fi

actionlint # the workflows in .github
goreleaser-config .goreleaser.yaml

unformatted=$(git ls-files -z --cached --others --exclude-standard '*.go' | xargs -0 gofmt -l)
if [ -n "$unformatted" ]; then
	printf 'not formatted, run gofmt -w on:\n%s\n' "$unformatted" >&2
	exit 1
fi
go vet ./...

# Graph code under the race detector would take minutes and hold no goroutine of ours.
light=$(go list -f '{{.ImportPath}} {{join .Deps " "}}' ./... | grep -v ' github.com/gomlx/' | cut -d ' ' -f 1)
go test -race $light

golangci-lint run ./...
