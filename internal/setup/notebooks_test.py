"""Tests of the notebook check: what it must find, and what it must not mind."""

import copy
import io
import pathlib
import sys
import tempfile
import time
import unittest
from unittest import mock

import nbformat
import nbformat.v4 as v4
import notebooks
from notebooks import FILE_BYTES, OUTPUT_BYTES, ROOT, alike, differences, displayed, inspect, normalise


def notebook(*outputs, metadata=None):
    cell = v4.new_code_cell("fmt.Println(1)", id="a", outputs=list(outputs), execution_count=1, metadata=metadata or {})
    return v4.new_notebook(cells=[cell])


def stream(text, name="stdout"):
    return v4.new_output("stream", name=name, text=text)


def display(**data):
    return v4.new_output("display_data", data={key.replace("_", "/"): value for key, value in data.items()})


class Normalise(unittest.TestCase):
    def test_equal_runs_are_equal_bytes(self):
        one = notebook(stream("a\n"), stream("b\n"), metadata={"execution": {"iopub.status.busy": "2026-01-01"}})
        two = notebook(stream("a\nb\n"))
        one.metadata["language_info"] = {"name": "go", "version": "go1.26.8"}
        normalise(one)
        normalise(two)
        self.assertEqual(one, two)

    def test_streams_do_not_mix(self):
        nb = notebook(stream("a"), stream("b", "stderr"), stream("c"), display(text_plain="d"), stream("e"))
        normalise(nb)
        self.assertEqual([o.get("text") for o in nb.cells[0].outputs], ["a", "b", "c", None, "e"])


class Inspect(unittest.TestCase):
    def test_finds(self):
        cases = {
            "stderr": (stream("oops", "stderr"), "cell 1 wrote to stderr:\noops"),
            "failed command": (stream("exit status 2\n"), "cell 1 complains"),
            "unknown magic": (stream('"%x" unknown or not implemented yet.'), "cell 1 complains"),
            "folder": (display(text_html=f"<p>{ROOT}/x</p>"), "its output names the folder"),
            "error": (v4.new_output("error", ename="Bad", evalue="no"), "cell 1 shows an error: Bad: no"),
            "empty picture": (display(text_html=""), "cell 1 has an empty output"),
            "empty text": (stream(""), "cell 1 has an empty output"),
            "chart alone": (display(application_vega="{}", text_plain="a"), "is shown where only images"),
            "size": (display(text_html="x" * OUTPUT_BYTES), f"the limit is {OUTPUT_BYTES}"),
        }
        for name, (output, want) in cases.items():
            with self.subTest(name):
                problems = inspect(notebook(output))
                self.assertEqual(len(problems), 1, problems)
                self.assertIn(want, problems[0])

    def test_finds_large_notebook(self):
        problems = inspect(notebook(*[display(text_html="x" * (FILE_BYTES // 3 + 1))] * 3))
        self.assertEqual(len(problems), 1)
        self.assertIn(f"the limit is {FILE_BYTES}", problems[0])

    def test_committed(self):
        """The committed outputs pass without being executed."""
        paths = sorted((ROOT / "notebooks").glob("*.ipynb"))
        self.assertTrue(paths)
        for path in paths:
            with self.subTest(path.name):
                self.assertEqual(inspect(nbformat.read(path, as_version=4)), [])

    def test_finds_linked_pictures(self):
        for source, linked in [
            ("![curve](../docs/curve.svg)", "../docs/curve.svg"),
            ("a\n\n![](https://example.org/a.png 'a')", "https://example.org/a.png"),
            ('<img width=1 src="b.png">', "b.png"),
            ("![a](attachment:a.png) <img src='data:image/png;base64,AAAA'> [text](../docs/methods.md)", None),
        ]:
            with self.subTest(source):
                problems = inspect(v4.new_notebook(cells=[v4.new_markdown_cell(source)]))
                want = [f"cell 1: the picture {linked} is lost where the notebook goes alone; draw it in a cell"]
                self.assertEqual(problems, want if linked else [])

    def test_passes(self):
        self.assertEqual(inspect(notebook(stream("status\n"), display(text_html="<b>x</b>"))), [])


class Alike(unittest.TestCase):
    def test_another_processor(self):
        for want, got in [
            ("are  39.5 %", "are  39.4 %"),
            ("raw  0.50 ± 0.29  0.388  agrees", "raw  0.50 ± 0.3  0.375     agrees"),
            ({"values": [{"x": 1, "y": 0.12345678901}]}, {"values": [{"x": 1, "y": 0.12345678999}]}),
            ({"image/png": "iVBORw0KGgoAAAANSUhEUgAABLAAAAJYAAAA"}, {"image/png": "iVBORw0KGgoAAAANSUhEUgAABLAAAAJYBBBB"}),
            ("1.234e-07", "1.2341e-07"),
            ({"values": "cells\n327 12"}, {"values": "cells\n328 12"}),
            ({"label": "layer 8, head 6: 0.6401"}, {"label": "layer 8, head 2: 0.6430"}),
            ("{&#34;w&#34;:&#34;gFqn/A&#34;}", "{&#34;w&#34;:&#34;gFqo+/&#34;}"),
        ]:
            with self.subTest(want=want):
                self.assertTrue(alike(want, got))

    def test_another_result(self):
        for want, got in [
            ("are  39.5 %", "are  38.5 %"),
            ("are  39.5 %", "is  39.5 %"),
            ("layer 3", "layer 4"),
            ("0.50 agrees", "0.50 differs"),
            ("0.50 0.25", "0.50"),
            ("0.120", "0.150"),
            ({"y": 0.5}, {"x": 0.5}),
            ({"label": "layer 8, head 6: 0.6401"}, {"label": "layer 9, head 6: 0.6401"}),
            ({"label": "layer 8, head 6: 0.6401"}, {"label": "layer 8, head 2: 0.6801"}),
            ({"text": "layer 8, head 6: 0.6401"}, {"text": "layer 8, head 2: 0.6401"}),
            ({"values": [1, 2]}, {"values": [1]}),
            ({"y": 120.5}, {"y": 121.5}),
            ({"image/png": "iVBORw0KGgoAAAANSUhEUgAABLAAAAJY"}, {"image/png": "iVBORw0KGgoAAAANSUhEUgAABLAAAAJZ"}),
            ("1.2e-07", "2.2e-07"),
            ({"values": "cells\n327 12"}, {"values": "cells\n329 12"}),
            ("{&#34;w&#34;:&#34;gFqn/A&#34;}", "{&#34;w&#34;:&#34;gFqr/A&#34;}"),
            ("{&#34;w&#34;:&#34;gFqn/A&#34;}", "{&#34;w&#34;:&#34;gFqn&#34;}"),
        ]:
            with self.subTest(want=want):
                self.assertFalse(alike(want, got))


class Differences(unittest.TestCase):
    def test_output(self):
        committed = notebook(stream("1\n"))
        self.assertEqual(differences(committed, copy.deepcopy(committed)), [])
        problems = differences(committed, notebook(stream("2\n")))
        self.assertEqual(len(problems), 1)
        self.assertIn('-   "text": "1\\n"\n+   "text": "2\\n"', problems[0])

    def test_never_executed(self):
        self.assertEqual(len(differences(notebook(), notebook(stream("2\n")))), 1)


class Limit(unittest.TestCase):
    """Which notebook and which cell ran when the time was over. Python's kernel stands in for ours."""

    def stopped(self, *sources, minutes):
        nb = v4.new_notebook(cells=[v4.new_markdown_cell("text"), *map(v4.new_code_cell, sources)])
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(notebooks, "KEPT", pathlib.Path(folder)):
            return notebooks.execute(nb, pathlib.Path(folder, "slow.ipynb"), minutes, kernel="python3")

    def test_cell_that_hangs(self):
        begin = time.monotonic()
        problems = self.stopped("1", "import time\ntime.sleep(120)", "2", minutes=0.1)
        self.assertLess(time.monotonic() - begin, 60)
        want = "the notebook took longer than 0.1 minutes, the limit, and was stopped in cell 3: import time"
        self.assertEqual(problems, [want])

    def test_cells_together(self):
        """Each cell is short, and all of them are too long."""
        cell = "import time; time.sleep(2)"
        self.assertIn("was stopped in cell ", "".join(self.stopped(*[cell] * 9, minutes=0.1)))

    def test_in_time(self):
        self.assertEqual(self.stopped("1", "2", minutes=5), [])

    def test_names_the_notebook(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "slow.ipynb")
            nbformat.write(notebook(), path)
            arguments = ["notebooks.py", "check", "--minutes", "7", str(path)]
            with (
                mock.patch.object(sys, "argv", arguments),
                mock.patch.object(sys, "stderr", new=io.StringIO()) as printed,
                mock.patch.object(sys, "stdout", new=io.StringIO()),
                mock.patch.object(notebooks, "KEPT", pathlib.Path(folder, "kept")),
                mock.patch.object(notebooks, "execute", lambda nb, path, minutes: [f"longer than {minutes:g} minutes"]),
                self.assertRaises(SystemExit) as end,
            ):
                notebooks.main()
        self.assertEqual(end.exception.code, 1)
        self.assertEqual(printed.getvalue(), f"{path}: longer than 7 minutes\n")


class Displayed(unittest.TestCase):
    def test_error_in_html(self):
        nb = notebook(stream("x"), display(text_html="<div>a &lt; b</div><pre>c</pre>", text_plain="short"))
        self.assertEqual(displayed(nb), "a < b c")
        self.assertEqual(displayed(notebook()), "")


if __name__ == "__main__":
    unittest.main()
