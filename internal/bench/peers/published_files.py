"""published_files.py DIR: writes the facts of a folder of published config.json files to models/testdata/published_files.jsonl.

DIR has folders with config.json files named TYPE__NAME.json, and reference.jsonl: for each file what the class of
transformers reads from it (names and shapes of all tensors without memory, fields, rotation). A line of the result is
one file: keys and values of the configuration, and those of the reference. Texts are cut, because only keys, numbers
and kinds count; of a file of another family, only its kind is kept.
"""

import json
import math
import os
import sys

OUT = os.path.join(os.path.dirname(__file__), "..", "..", "..", "models", "testdata", "published_files.jsonl")
with open(os.path.join(os.path.dirname(__file__), "..", "..", "..", "models", "family", "reference.tsv")) as table:
    KNOWN = {line.split("\t")[0] for line in table}
LONGEST = 60  # of a text that may be a name


def plain(value, key=""):
    """A value without prose: names, numbers, and the keys of objects."""
    if isinstance(value, str):
        return "" if len(value) > LONGEST or key in ("_name_or_path", "name_or_path") else value
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        labels = key in ("id2label", "label2id", "task_specific_params")
        return {k: ("x" if isinstance(v, str) and labels else plain(v, k)) for k, v in value.items()}
    return value


def short(rotation):
    """Of every list of frequencies its length and some of it."""
    out = {}
    for name, value in rotation.items():
        if "original" in name:
            continue
        if isinstance(value, list):
            value = {"length": len(value), "some": [value[0], value[len(value) // 2], value[-1]]}
        out[name] = value
    return out


def main(folder):
    reference = {}
    with open(os.path.join(folder, "reference.jsonl")) as lines:
        for line in lines:
            row = json.loads(line)
            reference[row["file"]] = row
    with open(OUT, "w") as out:
        for part in ("open", "refuse", "other"):
            for name in sorted(os.listdir(os.path.join(folder, part))):
                row = {"file": name}
                want = reference.get(name, {})
                try:
                    with open(os.path.join(folder, part, name)) as f:
                        config = json.load(f)
                except ValueError:
                    continue  # it is no JSON
                if part == "other" and config.get("model_type") not in KNOWN:
                    config = {k: config[k] for k in ("model_type", "architectures") if k in config}
                row["config"] = plain(config)
                for key in ("arch", "arch_known", "quant", "unknown_keys", "parameters", "fields", "scaling"):
                    if key in want:
                        row[key] = want[key]
                if "tensors" in want:  # of a second head, and of what only such a head reads
                    row["beside"] = sum(math.prod(shape) for n, shape in want["tensors"].items()
                                        if "seq_relationship" in n or "pooler." in n and "Classification" not in
                                        want["arch"])
                if "rotary" in want:
                    row["rotary"] = [short(r) for r in want["rotary"]]
                if any(want.get("windows", [])):
                    row["windows"] = want["windows"]
                if "fields" in row:
                    row["fields"].pop("rope_parameters", None)
                    row["fields"].pop("layer_types", None)
                out.write(json.dumps(row, sort_keys=True, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
