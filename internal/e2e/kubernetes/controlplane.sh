#!/usr/bin/env bash
# Builds etcd, an API server and a controller manager of Kubernetes from Go modules and runs the
# tests of this folder with them. Usage: internal/e2e/kubernetes/controlplane.sh [FOLDER]
# The programs stay in FOLDER (default .cache/kubernetes). Building takes about 6 minutes on two idle
# cores and 2 GB of downloads and cache; the test takes a minute.
set -euo pipefail
kubernetes=1.36.3
etcd=3.6.8
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
. "$here/../../setup/env.sh"
folder=${1:-$cache/kubernetes}
mkdir -p "$folder/build"
folder=$(cd "$folder" && pwd -P)

# Kubernetes replaces its own parts by folders of its repository. As modules they are v0.36.3.
write_module() {
	printf 'module example.com/controlplane\n\ngo 1.26.0\n' >go.mod
	go mod edit -require "k8s.io/kubernetes@v$kubernetes" -require "go.etcd.io/etcd/server/v3@v$etcd"
	local mod part
	mod=$(go mod download -json "k8s.io/kubernetes@v$kubernetes" |
		sed -n 's/^\t*"GoMod": "\(.*\)",*$/\1/p')
	for part in $(sed -n 's#^\t*\(k8s.io/[a-z-]*\) => ./staging/.*#\1#p' "$mod"); do
		go mod edit -replace "$part=$part@v0.${kubernetes#1.}"
	done
}

# build NAME PACKAGE
build() {
	if [ ! -e "$folder/$1-$kubernetes" ]; then
		echo "controlplane: building $1"
		nice -n 19 go build -p 2 -ldflags='-s -w' -o "$folder/$1-$kubernetes" "$2"
	fi
	ln -sf "$1-$kubernetes" "$folder/$1"
}

(
	cd "$folder/build"
	export CGO_ENABLED=0 GOFLAGS=-mod=mod GOEXPERIMENT= GOWORK=off
	write_module
	build etcd go.etcd.io/etcd/server/v3
	build kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver
	build kube-controller-manager k8s.io/kubernetes/cmd/kube-controller-manager
)
cd "$here"
HEADWATER_KUBERNETES="$folder" go test -count 1 -v -run TestControlPlane .
