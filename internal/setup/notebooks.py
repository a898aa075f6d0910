"""Executes notebooks headlessly, through the real kernel.

    notebooks.py check FILE...             compare with the committed outputs, change nothing
    notebooks.py write FILE...             execute in place
    notebooks.py run --out FOLDER FILE...  write executed copies, as notebook and as HTML page

A notebook fails if it takes longer than --minutes, if a cell fails, writes to stderr or contains one of GoNB's complaints that leave a cell's status ok; if its
outputs are empty, exceed 1 MB each or 2 MB together, name a folder of this machine or cannot be seen where only images and
HTML without scripts are shown; if its text has a picture of another file, which is lost where the notebook goes alone; and,
with check, if its outputs differ from the committed ones. Another
processor adds in another order, so that numbers may differ a little: see near. Everything else is compared exactly, except
for the points of a picture of a chart, whose numbers stand beside it.

The limit is for time on the clock, which is what a reader waits for. Processor time would miss a cell that waits forever,
and the engine is no child of the kernel, so its processor time is not known on every system. A notebook takes 3 minutes at
most on two quiet cores, so that 10 leave room for a busy machine; --minutes, MINUTES of make, allows more.
"""

import argparse
import copy
import difflib
import html
import json
import os
import pathlib
import re
import sys
import time

import nbclient
import nbformat

ROOT = pathlib.Path(__file__).resolve().parents[2]
MINUTES = 10  # of a whole notebook
OUTPUT_BYTES = 1_000_000
FILE_BYTES = 2_000_000  # of a whole notebook
# What GitHub and others that draw no charts show.
SHOWN = ("text/html", "image/png", "image/svg+xml")
KEPT = ROOT / ".cache" / "notebooks"  # executed copies and the log of the kernel
# A picture in the text of a notebook, in Markdown or HTML.
PICTURE = re.compile(r"!\[[^\]]*\]\(\s*([^)\s]+)|<img\b[^>]*?\bsrc=[\"']?([^\"'\s>]+)", re.I)
INSIDE = ("attachment:", "data:")  # begins the address of a picture that is in the notebook itself
# GoNB reports a failed !command and an unknown %command in the output alone.
COMPLAINT = re.compile(r"exit status \d+|unknown or not implemented")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=["check", "write", "run"])
    parser.add_argument("--out", type=pathlib.Path, help="folder for executed copies")
    parser.add_argument("--minutes", type=float, default=MINUTES, help=f"how long a notebook may take ({MINUTES})")
    parser.add_argument("files", type=pathlib.Path, nargs="+")
    args = parser.parse_args()
    if (args.mode == "run") != (args.out is not None):
        parser.error("run, and only run, needs --out")
    if not args.minutes > 0:
        parser.error(f"--minutes {args.minutes:g}: want more than 0")
    for path in args.files:
        if not path.is_file():
            parser.error(f"no notebook {path}")
    failed = False
    for path in args.files:
        print(f"{args.mode} {path}", flush=True)
        for problem in handle(args.mode, path, args.out, args.minutes):
            failed = True
            print(f"{path}: {problem}", file=sys.stderr)
    sys.exit(1 if failed else 0)


def handle(mode, path, out, minutes=MINUTES):
    """Executes one notebook and returns what is wrong with it."""
    committed = nbformat.read(path, as_version=4)
    notebook = copy.deepcopy(committed)
    problems = execute(notebook, path, minutes)
    normalise(notebook)
    save(notebook, KEPT / path.name)
    problems += inspect(notebook)
    if problems:
        return problems
    if mode == "check":
        normalise(committed)
        return differences(committed, notebook)
    if mode == "write":
        save(notebook, path)
        return []
    save(notebook, out / path.name)
    save_page(notebook, out / path.with_suffix(".html").name)
    return []


def execute(notebook, path, minutes=MINUTES, kernel="headwater"):
    """Executes the cells and returns what ended it before the last one."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    os.environ["CI"] = "true"  # a cell with an error must fail, since nobody reads its output
    end = time.monotonic() + 60 * minutes
    running = None

    def seconds_left(cell):
        nonlocal running
        running = cell
        return max(0.1, end - time.monotonic())  # 0 would be no limit

    client = nbclient.NotebookClient(
        notebook,
        kernel_name=kernel,
        timeout_func=seconds_left,
        resources={"metadata": {"path": str(path.parent)}},
    )
    log = KEPT / (path.stem + ".log")
    log.parent.mkdir(parents=True, exist_ok=True)
    try:
        with log.open("w") as stderr:  # of the kernel itself; what a cell writes there is one of its outputs
            client.execute(stderr=stderr)
    except nbclient.exceptions.CellExecutionError as e:
        return [f"a cell failed:\n{e}\n{displayed(notebook)}"]
    except nbclient.exceptions.CellTimeoutError:
        number = 1 + next(i for i, cell in enumerate(notebook.cells) if cell is running)
        first = running.source.strip().splitlines()[0]
        return [f"the notebook took longer than {minutes:g} minutes, the limit, and was stopped in cell {number}: {first}"]
    except (nbclient.exceptions.DeadKernelError, RuntimeError) as e:
        return [f"the kernel died, its log is {log}: {e}"]
    return []


def displayed(notebook):
    """Returns what the last cell that has outputs displayed, as text: an error may be told there alone."""
    cells = [cell for cell in notebook.cells if cell.get("outputs")]
    pieces = []
    for output in cells[-1].outputs if cells else []:
        data = output.get("data", {})
        text = re.sub(r"<[^>]*>", " ", data.get("text/html", "")) or data.get("text/plain", "")
        pieces.append(html.unescape(" ".join(text.split()))[:2000])
    return "\n".join(filter(None, pieces))


def normalise(notebook):
    """Removes what differs from run to run, so that equal results are equal bytes."""
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Go (Headwater)", "language": "go", "name": "headwater"},
            "language_info": {"file_extension": ".go", "mimetype": "text/x-go", "name": "go"},
        }
    )
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = merge_streams(cell.outputs)


def merge_streams(outputs):
    """Joins neighbouring pieces of one stream: where it was cut depends on timing."""
    merged = []
    for output in outputs:
        last = merged[-1] if merged else {}
        if output.output_type == "stream" == last.get("output_type") and output.name == last["name"]:
            last["text"] += output.text
            continue
        merged.append(output)
    return merged


def inspect(notebook):
    """Returns what is wrong with the outputs themselves. A cell's error is reported by execute."""
    problems = []
    if (size := len(nbformat.writes(notebook).encode())) > FILE_BYTES:
        problems.append(f"the notebook has {size} bytes, the limit is {FILE_BYTES}")
    for number, cell in enumerate(notebook.cells, 1):
        if cell.cell_type == "markdown":
            for name in (match[1] or match[2] for match in PICTURE.finditer(cell.source)):
                if not name.startswith(INSIDE):
                    problems.append(f"cell {number}: the picture {name} is lost where the notebook goes alone; draw it in a cell")
        for output in cell.get("outputs", []):
            data = output.get("data")
            if output.output_type == "error":
                problems.append(f"cell {number} shows an error: {output.ename}: {output.evalue}")
            elif data is None and not output.get("text") or data is not None and not any(data.values()):
                problems.append(f"cell {number} has an empty output")
            elif data and not any(data.get(kind) for kind in SHOWN):
                problems.append(f"cell {number}: nothing of {', '.join(data)} is shown where only images and HTML are")
            text = json.dumps(output, ensure_ascii=False)
            if output.get("name") == "stderr":
                problems.append(f"cell {number} wrote to stderr:\n{output.text}")
            elif output.output_type == "stream" and COMPLAINT.search(output.text):
                problems.append(f"cell {number} complains:\n{output.text}")
            if str(ROOT) in text:
                problems.append(f"cell {number}: its output names the folder {ROOT}")
            if len(text.encode()) > OUTPUT_BYTES:
                problems.append(f"cell {number}: an output of {len(text.encode())} bytes, the limit is {OUTPUT_BYTES}")
    return problems


def differences(committed, executed):
    problems = []
    for number, (want, got) in enumerate(zip(committed.cells, executed.cells), 1):
        if alike(want, got):
            continue
        diff = difflib.unified_diff(lines(want), lines(got), "committed", "executed", lineterm="", n=1)
        shown = "\n".join(line[:300] for line in list(diff)[:40])
        problems.append(f"cell {number} differs from what is committed; make notebooks writes it again:\n{shown}")
    return problems


NUMBER = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)")
# The values of a picture as its script reads them: two digits of base64 each (gonbext/render/data.go).
CODES = re.compile("(?<=&#34;w&#34;:&#34;)[A-Za-z0-9+/]+")
DIGITS = {digit: k for k, digit in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")}
SORTED_HEAD = re.compile(r"head \d+(?=: )")
PNG_HEADER = 32  # characters of base64: the signature of a PNG file, and its width and height


def alike(want, got, kind=""):
    """Returns whether two outputs, or parts of them, are the same but for numbers that are near each other."""
    if want == got:
        return True
    if isinstance(want, dict) and isinstance(got, dict):
        return want.keys() == got.keys() and all(alike(want[key], got[key], key) for key in want)
    if isinstance(want, list) and isinstance(got, list):
        return len(want) == len(got) and all(alike(a, b, kind) for a, b in zip(want, got))
    if isinstance(want, (int, float)) and isinstance(got, (int, float)):
        return near(repr(want), repr(got))
    if not isinstance(want, str) or not isinstance(got, str):
        return False
    if kind == "image/png":
        return want[:PNG_HEADER] == got[:PNG_HEADER]
    if not near_codes("".join(CODES.findall(want)), "".join(CODES.findall(got))):
        return False
    want, got = CODES.sub("", want), CODES.sub("", got)
    if kind == "label":  # of a line through sorted heads, where two heads with near values may change places
        want, got = SORTED_HEAD.sub("head", want), SORTED_HEAD.sub("head", got)
    # A column of a table is as wide as its longest number.
    a, b = (NUMBER.split(re.sub(r"[ ─-]{2,}", "  ", text)) for text in (want, got))
    close = near_thousandths if kind == "values" else near
    return len(a) == len(b) and a[::2] == b[::2] and all(map(close, a[1::2], b[1::2]))


def near_thousandths(want, got):
    """Is near for the table of a chart, whose cells are whole thousandths: these may differ by one."""
    return near(want, got) or want.isdigit() and got.isdigit() and abs(int(want) - int(got)) == 1


def near(want, got):
    """Returns whether two numbers, as they are written, may come from the same cell on two processors.

    Whole numbers must be equal. Others may differ by a thousandth, or by one in the last digit; and by 0.02 where both are
    written with two digits or more after the point, as rank correlations are, in which a tie may fall either way.
    """
    if want == got:
        return True
    a, b = float(want), float(got)
    distance, size = abs(a - b), max(abs(a), abs(b))
    if "e" in (want + got).lower():
        return distance <= 1e-3 * size
    places = [len(text.partition(".")[2]) for text in (want, got)]
    if max(places) == 0:
        return False
    return (
        distance <= 1e-3 * size
        or 0 < min(places) <= 4 and distance <= 1.001 * 10 ** -min(places)
        or min(places) >= 2 and distance <= 0.02
    )


def near_codes(want, got):
    """Returns whether values in two digits of base64 are the same but for 2 of 4,096."""

    def values(codes):
        return [64 * DIGITS[a] + DIGITS[b] for a, b in zip(codes[::2], codes[1::2])]

    return len(want) == len(got) and all(abs(a - b) <= 2 for a, b in zip(values(want), values(got)))


def lines(cell):
    return json.dumps(cell, ensure_ascii=False, indent=1, sort_keys=True).splitlines()


def save(notebook, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")


def save_page(notebook, path):
    import nbconvert  # takes half a second, and only this mode needs it

    page, _ = nbconvert.HTMLExporter().from_notebook_node(notebook)
    path.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
