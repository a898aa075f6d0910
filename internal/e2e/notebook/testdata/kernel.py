"""Runs cells of a notebook in FOLDER in a real kernel: kernel.py FOLDER KERNEL <cells >answers, both JSON.

A cell is {"source", "interrupt": what it must show to be interrupted, "restart": whether the kernel is started again before,
"tab": whether it is not run, but completed at its end}.
An answer is {"text": what it printed, of each display what it showed last, and its error, "status": ok or error}; of a
completed cell the text has the names.
"""

import html
import json
import re
import sys

from jupyter_client.manager import start_new_kernel

SECONDS = 300  # a cell may take on a machine that does other things


def main():
    cells = json.load(sys.stdin)
    folder, kernel = sys.argv[1:]
    manager, client = start_new_kernel(startup_timeout=SECONDS, kernel_name=kernel, cwd=folder, stderr=sys.stderr)
    try:
        json.dump([run(manager, client, cell) for cell in cells], sys.stdout)
    finally:
        client.stop_channels()
        manager.shutdown_kernel()


def run(manager, client, cell):
    if cell.get("restart"):
        manager.restart_kernel()
        client.wait_for_ready(timeout=SECONDS)
    if cell.get("tab"):
        content = client.complete(cell["source"], reply=True, timeout=SECONDS)["content"]
        return {"text": " ".join(content["matches"]), "status": content["status"]}
    request = client.execute(cell["source"])
    shown, status, interrupt = {}, "ok", cell.get("interrupt")
    while True:
        message = client.get_iopub_msg(timeout=SECONDS)
        if message["parent_header"].get("msg_id") != request:
            continue
        kind, content = message["msg_type"], message["content"]
        if kind == "status" and content["execution_state"] == "idle":
            return {"text": "\n".join(shown.values()), "status": status}
        if kind == "error":
            status = "error"
            shown[len(shown)] = content["evalue"]
        if kind == "stream":
            shown[len(shown)] = content["text"]
        if kind in ("display_data", "update_display_data"):
            shown[content.get("transient", {}).get("display_id") or len(shown)] = plain(content["data"])
            if interrupt and interrupt in plain(content["data"]):
                interrupt = None
                manager.interrupt_kernel()


def plain(data):
    text = re.sub(r"<[^>]*>", " ", data.get("text/html", "")) or data.get("text/plain", "")
    return html.unescape(" ".join(text.split()))


main()
