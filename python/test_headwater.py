"""Tests of the package, with the toy model. Those of arrays need numpy and pandas, that of a shell
needs IPython; without them they are skipped."""

import contextlib
import csv
import importlib.util
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

import headwater

PROMPT = "the keys to the cabinet"


def need(*names):
    missing = [n for n in names if importlib.util.find_spec(n) is None]
    return unittest.skipIf(missing, f"not installed: {missing}")


class Explain(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.e = headwater.explain(PROMPT, max_tokens=2, methods=["rollout", "value-zeroing"])

    def test_tokens(self):
        self.assertEqual(self.e.prompt[2].text, " keys")
        self.assertEqual([t.text for t in self.e.steps], [" are", " here"])
        self.assertGreater(self.e.steps[0].probability, 0.3)

    def test_values_are_those_of_the_command(self):
        # The command writes the same values as CSV, which this package does not read.
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "e.csv")
            subprocess.run(
                [headwater._program(), "explain", "--max-tokens=2",
                 "--methods=rollout,value-zeroing", f"--output={path}", PROMPT],
                check=True, capture_output=True)
            with path.open(newline="") as file:
                lines = [line for line in csv.DictReader(file) if line["shown"] == "true"]
        self.assertGreater(len(lines), 20)
        for line in lines:
            m = self.e.methods[line["method"]]
            k = m.layers.index(int(line["layer"])) if len(m.layers) > 1 else 0
            value = m.rows[int(line["target"])][k][int(line["source"])]
            self.assertAlmostEqual(value, float(line["value"]), places=6)

    def test_shares_add_up(self):
        for level in self.e.methods["rollout"].rows[1]:
            self.assertAlmostEqual(sum(level), 1, places=5)

    def test_picture(self):
        self.assertIn("Where each generated token comes from", repr(self.e))
        html = self.e._repr_html_()
        self.assertTrue(html.strip().startswith('<div class="hm '), html[:100])
        self.assertNotIn("<body", html)
        self.assertTrue(html.rstrip().endswith("</div>"), html[-100:])

    def test_errors(self):
        with self.assertRaisesRegex(headwater.Error, r'--max-tokens "-3": want a whole number'):
            headwater.explain(PROMPT, max_tokens=-3)
        with self.assertRaisesRegex(headwater.Error, "nonsense"):
            headwater.explain(PROMPT, methods=["nonsense"])
        for name in ("output", "help"):
            with self.assertRaisesRegex(TypeError, name):
                headwater.explain(PROMPT, **{name: "x.html"})
        with self.assertRaisesRegex(headwater.Error, "cannot run with 3000[0-9]{3} characters"):
            headwater.explain("the " * 750_000)
        for half in ("the\0keys", "the \ud800 keys"):
            with self.assertRaisesRegex(headwater.Error, "cannot run with"):
                headwater.explain(half)
        for prompt in (5, None, b"the keys", [], ["the keys"], [{"role": "user"}, "the keys"]):
            with self.assertRaisesRegex(TypeError, "the prompt is .*: give a text, or a list"):
                headwater.explain(prompt)
        with self.assertRaisesRegex(headwater.Error, "version 2"):
            headwater.Explanation({"version": 2}, "", "")

    def test_bytes(self):
        tokens = {"texts": ["a", "\ufffd"], "ids": [1, 2], "bytes": [None, [240]]}
        step = {"id": 3, "text": "\ufffd", "probability": 0.5, "bytes": [159]}
        data = {"version": 1, "prompt": tokens, "steps": [step], "order": [], "methods": {}}
        e = headwater.Explanation(data | {"warnings": []}, "", "")
        self.assertEqual(e.words, [])
        word = {"begin": 0, "end": 1, "text": "a"}
        e = headwater.Explanation(data | {"warnings": [], "words": [word]}, "", "")
        self.assertEqual(e.words, [headwater.Word(0, 1, "a")])
        self.assertEqual([t.bytes for t in e.prompt + e.steps], [None, b"\xf0", b"\x9f"])

    def test_options(self):
        with tempfile.TemporaryDirectory() as folder:
            edits = [{"part": "mlp", "layers": [1]}]
            file = Path(folder, "edit.json")
            self.assertEqual(
                headwater._flags({
                    "max_tokens": 3, "chat": True, "sinks": False, "model": None,
                    "methods": ["a", "b"], "set": {"steps": 5},
                    "chat_set": {"thinking": False, "tools": None, "x": "y"}, "edit": edits, "prove": False,
                    "position": range(2), "against_model": Path("a b")}, Path(folder)),
                ["--max-tokens=3", "--chat", "--methods=a,b", "--set=steps=5",
                 "--chat-set=thinking=false", "--chat-set=tools=null", "--chat-set=x=y",
                 f"--edit={file}", "--prove=off",
                 "--position=0,1", "--against-model=a b"])
            self.assertEqual(json.loads(file.read_text()), edits)
        e = headwater.explain("-x --help", max_tokens=1)  # a prompt is no flag
        self.assertIn("-x --help", e.data["prompt"]["text"])

    def test_values_of_the_wrong_type(self):
        help = subprocess.run([headwater._program(), "explain", "--help"], check=True,
                              capture_output=True, encoding="utf-8").stdout
        switches = set(re.findall(r"^ +(?:-., )?--([a-z-]+)$", help, re.MULTILINE))
        switches -= {"help", "open"}  # which explain() does not take
        self.assertEqual({s.replace("_", "-") for s in headwater._SWITCHES}, switches)
        for name, value, want in (
            ("model", True, "model takes a value, not True"),
            ("prove", True, "prove takes a value, not True"),
            ("caption", b"abc", "caption is of the type bytes: give a text"),
            ("continuation", bytearray(b" is"), "continuation is of the type bytearray"),
        ):
            with self.assertRaisesRegex(TypeError, want):
                headwater.explain(PROMPT, **{name: value})
        for name in ("model", "methods", "max_tokens", "edit"):
            with self.assertRaisesRegex(headwater.Error, '"": '):
                headwater.explain(PROMPT, **{name: [] if name == "edit" else ""})

    def test_messages(self):
        chat = [{"role": "user", "content": "who has the key ?"}]
        with self.assertRaisesRegex(headwater.Error, "tiny has no chat template"):
            headwater.explain(chat)
        with self.assertRaisesRegex(headwater.Error, r'messages\[1\]: the key "role" is missing'):
            headwater.explain([*chat, {"content": "mary"}])

    @need("mypy", "numpy")
    def test_types(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "use.py")
            file.write_text(
                "import headwater\nfrom pathlib import Path\n"
                "e = headwater.explain([{'role': 'user', 'content': 'x'}], Path('m'), top=1)\n"
                "p: float | None = e.steps[0].probability\nh: str = e._repr_html_()\n"
                "n: int = e.methods['rollout'].to_numpy().ndim\n")
            out = subprocess.run([sys.executable, "-m", "mypy", "--strict", file],
                                 capture_output=True, encoding="utf-8", cwd=folder)
        self.assertEqual(out.returncode, 0, out.stdout + out.stderr)

    @need("numpy")
    def test_numpy(self):
        import numpy

        values = self.e.methods["rollout"].to_numpy()
        self.assertEqual(values.shape, (2, 6, 7))
        self.assertTrue(numpy.isnan(values[0, :, 6]).all())
        self.assertEqual(numpy.isnan(values).sum(), 6)
        self.assertEqual(values[1, 5, 2], self.e.methods["rollout"].rows[1][5][2])

    @need("pandas")
    def test_pandas(self):
        frame = self.e.to_pandas()
        self.assertEqual(len(frame), (6 + 7) * 6 + 6 + 7)
        row = frame[(frame.method == "rollout") & (frame.target == 1) & (frame.layer == 5)]
        self.assertAlmostEqual(row.value.sum(), 1, places=5)
        self.assertEqual(row.source_text.iloc[6], " are")

    @need("IPython")
    def test_ipython(self):
        out = subprocess.run(
            [sys.executable, "-m", "IPython", "--no-banner", "--colors=NoColor", "-c",
             f"import headwater; display(headwater.explain({PROMPT!r}, max_tokens=1))"],
            check=True, capture_output=True, encoding="utf-8").stdout
        self.assertIn("Where each generated token comes from", out)

    @need("nbformat", "nbconvert", "ipykernel")
    def test_notebook(self):
        import nbformat
        from nbconvert.preprocessors import ExecutePreprocessor

        cell = nbformat.v4.new_code_cell(
            f"import headwater\nheadwater.explain({PROMPT!r}, max_tokens=1)")
        book = nbformat.v4.new_notebook(cells=[cell])
        ExecutePreprocessor(timeout=120, kernel_name="python3").preprocess(book)
        data = book.cells[0].outputs[0].data
        self.assertIn('<div class="hm ', data["text/html"])
        self.assertIn("Where each generated token comes from", data["text/plain"])


class LongRun(unittest.TestCase):
    """A program that takes long: a script stands for it, which says how far it is and waits."""

    def run_long(self, act, seconds):
        with tempfile.TemporaryDirectory() as folder:
            program, ended = Path(folder, "headwater"), Path(folder, "ended")
            program.write_text(
                f"#!{sys.executable}\nimport signal, sys, time\n"
                f"signal.signal(signal.SIGTERM, lambda *_: (open({str(ended)!r}, 'w'), sys.exit(1)))\n"
                "print('headwater: layer 1 of 2', file=sys.stderr, flush=True)\n"
                f"time.sleep({seconds})\nsys.exit('headwater: no layer 2')\n"
            )
            program.chmod(0o700)
            said = io.StringIO()
            with mock.patch.dict(os.environ, HEADWATER_BIN=str(program)), mock.patch.object(
                headwater, "_PATIENCE", 0
            ), contextlib.redirect_stderr(said):
                act()
            return said.getvalue(), ended.exists()

    @unittest.skipIf(os.name == "nt", "a script is no program there")
    def test_progress_is_passed_on(self):
        def act():
            with self.assertRaisesRegex(headwater.Error, "^no layer 2$"):
                headwater.explain(PROMPT)

        self.assertIn("layer 1 of 2", self.run_long(act, 0)[0])

    @unittest.skipIf(os.name == "nt", "a script is no program there")
    def test_an_interrupt_ends_the_program(self):
        def act():
            threading.Timer(1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            with self.assertRaises(KeyboardInterrupt):
                headwater.explain(PROMPT)

        self.assertTrue(self.run_long(act, 60)[1])


class Program(unittest.TestCase):
    def test_missing(self):
        code = (
            "import headwater\n"
            "headwater.__file__ = '/nowhere/headwater/__init__.py'\n"
            "try:\n    headwater.explain('x')\n"
            "except headwater.Error as e:\n    print(e)")
        env = {k: v for k, v in os.environ.items() if k != "HEADWATER_BIN"}
        out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True,
                             env=env, encoding="utf-8").stdout
        self.assertIn("is missing: install a wheel", out)


if __name__ == "__main__":
    unittest.main()
