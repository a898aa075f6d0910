"""Runs the first cell of a new user in an empty folder, and fails unless it shows a picture."""

import sys
import tempfile

import nbclient
import nbformat

CELL = """import "github.com/headwater-ml/headwater/gonbext"

%%
gonbext.Explain("the keys to the cabinet", gonbext.Options{MaxTokens: 1})"""

notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
with tempfile.TemporaryDirectory() as folder:
    client = nbclient.NotebookClient(
        notebook, kernel_name="headwater", timeout=900, resources={"metadata": {"path": folder}}
    )
    client.execute()
shown = str(notebook.cells[0].outputs)
if "toy grammar model" not in shown:
    sys.exit(f"first_cell.py: no picture: {shown[:2000]}")
