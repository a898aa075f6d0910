"""Headwater shows which tokens of the prompt each generated token of a transformer came from.

    import headwater
    e = headwater.explain("the keys to the cabinet")
    e                                  # the picture, in a notebook
    e.methods["value-zeroing"].rows    # [targets][layers][sources]
    e.to_pandas()

The package computes nothing itself: it runs the program headwater once and reads what that writes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy
    import pandas

__all__ = ["Error", "Explanation", "Method", "Token", "Word", "explain", "main"]

# The flags of `headwater explain` that are on or off, with _ for -; all others take a value.
_SWITCHES = frozenset(("alignment", "chat", "filter", "full", "sinks"))

# The version of the JSON form that this package reads; see docs/stability.md.
FORM = 1


class Error(RuntimeError):
    """What the program refuses or cannot do, in its words."""


@dataclass(frozen=True)
class Token:
    """A token of the prompt or a generated one. A prompt token has no probability. bytes are those of
    a token that is not a text by itself, as a part of a character, which is U+FFFD in text."""

    text: str
    id: int
    probability: float | None = None
    bytes: bytes | None = None


@dataclass(frozen=True)
class Word:
    """A word of the text: tokens begin to end, not included, numbered as the sources of a row."""

    begin: int
    end: int
    text: str


def _bytes(numbers: list[int] | None) -> bytes | None:
    return None if numbers is None else bytes(numbers)


@dataclass(frozen=True)
class Method:
    """What one method says.

    rows has the values, [targets][layers][sources]. The targets are the generated tokens. The
    sources are the prompt tokens and then the generated tokens before the target, so rows differ
    in length. layers are the numbers of the layers, from 0; -1 if each target has a layer of its
    own, which is that in shown, [targets]. unit is what a value is, and facts what it is for
    programs (docs/json.md).
    """

    name: str
    unit: str
    facts: dict[str, Any]
    layers: list[int]
    shown: list[int]
    rows: list[list[list[float]]]

    def to_numpy(self) -> numpy.ndarray[Any, numpy.dtype[numpy.float64]]:
        """The values as an array, [targets, layers, sources], NaN where a source comes later."""
        import numpy

        width = max((len(row) for level in self.rows for row in level), default=0)
        values = numpy.full((len(self.rows), len(self.layers), width), numpy.nan)
        for t, levels in enumerate(self.rows):
            for k, row in enumerate(levels):
                values[t, k, : len(row)] = row
        return values


class Explanation:
    """What explain returns.

    prompt and steps are lists of Token: what was read and what was generated (for models that only
    read: what was predicted). methods has a Method by name. text is the picture as a text, html as
    a part of a page, and data the whole JSON form (docs/json.md).
    """

    def __init__(self, data: dict[str, Any], text: str, html: str):
        if data.get("version") != FORM:
            raise Error(
                f"the program writes version {data.get('version')} of the JSON form, and this "
                f"package reads version {FORM}: install both from one release"
            )
        self.data, self.text, self.html = data, text, html
        prompt = data["prompt"]
        exact = prompt.get("bytes") or [None] * len(prompt["ids"])
        self.prompt = [
            Token(text, id, None, _bytes(b))
            for text, id, b in zip(prompt["texts"], prompt["ids"], exact)
        ]
        self.steps = [
            Token(s["text"], s["id"], s.get("probability"), _bytes(s.get("bytes")))
            for s in data["steps"]
        ]
        self.words = [Word(w["begin"], w["end"], w["text"]) for w in data.get("words", [])]
        self.methods: dict[str, Method] = {
            name: _method(name, data["methods"][name]) for name in data["order"]
        }

    def to_pandas(self) -> pandas.DataFrame:
        """A frame with a line for each value: method, target, target_text, layer, source,
        source_text and value. Targets and sources are numbers from 0, as in the JSON form."""
        import pandas

        texts = [t.text for t in self.prompt + self.steps]
        return pandas.DataFrame(
            [
                (m.name, t, self.steps[t].text, layer, s, texts[s], value)
                for m in self.methods.values()
                for t, levels in enumerate(m.rows)
                for layer, row in zip(m.layers, levels)
                for s, value in enumerate(row)
            ],
            columns=[
                "method", "target", "target_text", "layer", "source", "source_text", "value",
            ],
        )

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.html


def _method(name: str, r: dict[str, Any]) -> Method:
    levels = len(r["layers"])
    rows = [r["rows"][i : i + levels] for i in range(0, len(r["rows"]), levels)]
    return Method(name, r["unit"], r["facts"], r["layers"], r["shown"], rows)


def explain(
    prompt: str | list[dict[str, Any]], model: str | os.PathLike[str] | None = None, **options: Any
) -> Explanation:
    """Lets a model continue a prompt, and explains every token by each method.

    prompt is a text, or the messages of a chat: [{"role": "user", "content": "…"}]. model is a name
    or a folder, as of `headwater explain --model`; the toy model by default. Every other option is
    a flag of `headwater explain` with _ for -: max_tokens=5, chat=True, methods=["direct",
    "rollout"], set={"steps": 50}, edit=[{…}]. `headwater explain --help` lists them. Raises Error
    with the words of the program.
    """
    for name in ("output", "format", "input", "open", "help"):
        if name in options:
            raise TypeError(f"explain() takes no {name}: run the program headwater for that")
    words = []
    if isinstance(prompt, str):
        words = ["--", prompt]
    elif isinstance(prompt, list) and _records(prompt):
        options["messages"] = prompt
    else:
        raise TypeError(
            f"the prompt is {_kind(prompt)}: give a text, or a list of messages such as "
            '[{"role": "user", "content": "…"}]'
        )
    with tempfile.TemporaryDirectory(prefix="headwater") as folder:
        page, numbers = Path(folder, "e.html"), Path(folder, "e.json")
        # All three are written in one run.
        args = ["explain", f"--output={page}", f"--output={numbers}", "--output=-"]
        args += _flags({"model": model, **options}, Path(folder)) + words
        program = _program()
        try:
            status, text, lines = _run([program, *args], Path(folder, "e.txt"))
        except (OSError, ValueError) as err:
            # No program, more than the system passes on, a zero byte or half a character.
            size = sum(len(a) for a in args)
            why = err.strerror if isinstance(err, OSError) else err
            raise Error(f"{program} cannot run with {size} characters of text: {why}") from err
        if status != 0:
            raise Error((lines or [f"it ended with {status}"])[-1].removeprefix("headwater: "))
        body = page.read_text(encoding="utf-8").partition("<body")[2]
        html = body.partition(">")[2].rpartition("</body>")[0]
        return Explanation(json.loads(numbers.read_bytes()), text, html)


# After so many seconds what the program says of its progress is passed on.
_PATIENCE = 5.0


def _run(command: list[str], output: Path) -> tuple[int, str, list[str]]:
    """Runs a command: its status, its text, which goes through a file, and the lines of its errors.
    An interrupt ends the command too."""
    began, lines = time.monotonic(), []
    with open(output, "wb") as out, subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE,
        encoding="utf-8", errors="replace",
    ) as child:
        try:
            for line in child.stderr:
                if line.strip():
                    lines = lines[-99:] + [line.strip()]
                if time.monotonic() - began > _PATIENCE:
                    print(line, end="", file=sys.stderr, flush=True)
            child.wait()
        except BaseException:
            child.terminate()
            try:
                child.wait(5)
            except subprocess.TimeoutExpired:
                child.kill()
            raise
    return child.returncode, output.read_text(encoding="utf-8", errors="replace"), lines


def _flags(options: Mapping[str, Any], folder: Path) -> list[str]:
    """The flags of a command for keywords. What flags read from a file is written into folder."""
    flags = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is None or value is False and name in _SWITCHES:
            continue
        if isinstance(value, (bytes, bytearray, memoryview)):
            raise TypeError(f"{name} is {_kind(value)}: give a text, such as value.decode()")
        if value is True and name in _SWITCHES:
            flags.append(flag)
        elif value is True:
            raise TypeError(f"{name} takes a value, not {value}: see headwater explain --help")
        elif value is False:
            flags.append(f"{flag}=off")
        elif _records(value):
            file = folder / f"{name}.json"
            file.write_text(json.dumps(value), encoding="utf-8")
            flags.append(f"{flag}={file}")
        elif isinstance(value, Mapping):
            flags += [f"{flag}={key}={_written(v)}" for key, v in value.items()]
        elif isinstance(value, Iterable) and not isinstance(value, (str, os.PathLike)):
            flags.append(f"{flag}={','.join(str(v) for v in value)}")
        else:
            flags.append(f"{flag}={value}")
    return flags


def _written(value: Any) -> str:
    """A value of a setting as the program reads it: what only Python writes so, as JSON."""
    if value is None or isinstance(value, (bool, list, dict)):
        return json.dumps(value)
    return str(value)


def _records(value: Any) -> bool:
    """Whether a value is a list of messages or edits, as JSON has them."""
    return isinstance(value, list) and value != [] and all(isinstance(v, dict) for v in value)


def _kind(value: Any) -> str:
    return "empty" if value == [] else f"of the type {type(value).__name__}"


def _program() -> str:
    """The path of the program: HEADWATER_BIN, or that of this package."""
    if named := os.environ.get("HEADWATER_BIN"):
        return named
    name = "headwater.exe" if os.name == "nt" else "headwater"
    path = Path(__file__).with_name("bin") / name
    if not path.exists():
        raise Error(f"{path} is missing: install a wheel of headwater-attribution for this system")
    return str(path)


def main() -> None:
    """Becomes the program headwater."""
    program = _program()
    if os.name == "nt":
        sys.exit(subprocess.call([program, *sys.argv[1:]]))
    os.execv(program, [program, *sys.argv[1:]])
