#!/usr/bin/env bash
# Runs headwater corpus on a real Slurm, on a server of S3 with faults, and its job file through the
# types of Kubernetes' API; everything on loopback. Usage:
# internal/e2e/cluster/run.sh [FLAG...], flags for go test. As root it installs Debian's slurm-wlm
# and munge if they are missing. It takes about ten minutes.
# internal/e2e/kubernetes/controlplane.sh is the same for a real control plane of Kubernetes, which
# takes longer to build.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
. "$here/../../setup/env.sh"
cd "$root"

remove=() # what was made here and goes at the end
trap 'rm -rf "${remove[@]}"' EXIT

# has_slurm says whether the daemons are installed, which are not on every user's path.
has_slurm() {
	local PATH=$PATH:/usr/sbin:/sbin
	command -v slurmctld && command -v slurmd && command -v munged && command -v sbatch
} >/dev/null

if ! has_slurm; then
	install="apt-get install -y --no-install-recommends slurm-wlm munge"
	if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
		echo "run.sh: Slurm is not installed; on Debian, as root: $install" >&2
		exit 1
	fi
	echo "run.sh: $install"
	export DEBIAN_FRONTEND=noninteractive
	# No daemon of the packages is to start: the test starts its own.
	policy=/usr/sbin/policy-rc.d
	if [ ! -e "$policy" ]; then
		printf '#!/bin/sh\nexit 101\n' >"$policy"
		chmod +x "$policy"
		remove+=("$policy")
	fi
	apt-get update -qq
	$install
fi

work=$(mktemp -d)
remove+=("$work")
chmod 755 "$work"
export HEADWATER_BIN="$work/headwater" HEADWATER_SLURM=1
go build -buildvcs=false -o "$HEADWATER_BIN" ./cmd/headwater
for module in storage kubernetes; do
	(cd "internal/e2e/$module" && go mod download && go vet . &&
		go test -count 1 -v -parallel 8 -timeout 30m "$@" .)
done
go test -count 1 -v -timeout 30m -skip TestModules "$@" ./internal/e2e/cluster
