"""A notebook run from top to bottom in a kernel of its own, which the start-up hook watches; the file itself is left alone.

`python -m sabueso.launch.notebook nb.ipynb` is what `sabueso run nb.ipynb` starts. Outputs are printed as they come, the first failing
cell ends the run with status 1, and a kernel that is killed ends us the same way.
"""

from __future__ import annotations

import ast
import json
import os
import re
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from .cells import Cells, keep_cells

NEEDED = "sabueso: notebooks need ipykernel and jupyter_client in this environment: pip install 'sabueso[notebook]'"
NAMES = "[__import__('ipykernel.compiler', fromlist=['x']).get_file_name(s) for s in {sources!r}]"
TELL = "import sys as _s\nfrom sabueso.launch import child as _c\n_c.told(_s.last_value)"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def code_cells(path: Path) -> list[tuple[str, bool]]:
    """(source, may fail) of the notebook's code cells. Raises ValueError if it is no notebook."""
    book = json.loads(path.read_text(encoding="utf-8"))
    try:
        cells = [c for c in book["cells"] if c["cell_type"] == "code"]
        return [("".join(c["source"]), "raises-exception" in c.get("metadata", {}).get("tags", ())) for c in cells]
    except (KeyError, TypeError) as error:
        raise ValueError(f"no cells ({error})") from error


def run(path: Path) -> int:
    """Run every cell; returns the exit status."""
    try:
        from jupyter_client.manager import start_new_kernel
    except ImportError:
        sys.stderr.write(NEEDED + "\n")
        return 2
    try:
        cells = code_cells(path)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"sabueso: {path} is no notebook that can be read ({error}): open and save it with Jupyter\n")
        return 2
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(path.absolute().parent))
    over = threading.Event()
    threading.Thread(target=_die_with, args=(manager, over), daemon=True).start()
    try:
        _keep_names(client, str(path), [source for source, _ in cells])
        return _execute(client, cells)
    except KeyboardInterrupt:
        manager.interrupt_kernel()
        raise
    finally:
        over.set()
        client.stop_channels()
        manager.shutdown_kernel()


def _execute(client: Any, cells: list[tuple[str, bool]]) -> int:
    for source, may_fail in cells:
        reply = client.execute_interactive(source, allow_stdin=False, output_hook=_print) if source.strip() else {"content": {"status": "ok"}}
        if reply["content"]["status"] != "ok" and not may_fail:
            client.execute_interactive(TELL, silent=True, store_history=False, output_hook=lambda message: None)
            return 1
    return 0


def _keep_names(client: Any, name: str, sources: list[str]) -> None:
    """Ask the kernel what it calls each cell's file, and keep that in the run folder."""
    folder, asked = os.environ.get("SABUESO_RUN"), {"names": NAMES.format(sources=sources)}
    if not folder:
        return
    reply = client.execute_interactive("", silent=True, store_history=False, user_expressions=asked, output_hook=lambda message: None)
    told = reply["content"].get("user_expressions", {}).get("names", {}).get("data", {}).get("text/plain")
    files: list[str] = ast.literal_eval(told) if told else []
    runs = [(f, s) for f, s in zip(files, sources)]
    cells: Cells = {}
    number = 0
    for file, source in runs:
        if source.strip():
            number += 1  # as the kernel counts: empty cells are not run
            cells[os.path.abspath(file)] = {"name": f"{name}#cell{number}", "source": source}
    keep_cells(Path(folder), cells)


def _print(message: dict[str, Any]) -> None:
    """A cell's output where a script's would be."""
    kind, content = message["header"]["msg_type"], message["content"]
    if kind == "stream":
        out = sys.stderr if content["name"] == "stderr" else sys.stdout
        out.write(content["text"])
        out.flush()
    elif kind in ("execute_result", "display_data"):
        text = content["data"].get("text/plain")
        if text:
            print(text, flush=True)
    elif kind == "error":
        text = "\n".join(content["traceback"])
        sys.stderr.write((text if sys.stderr.isatty() else COLOUR.sub("", text)) + "\n")
        sys.stderr.flush()


def _die_with(manager: Any, over: threading.Event) -> None:
    """End as the kernel did when it is killed in the midst of a cell: nobody would answer any more."""
    while not over.wait(0.2):
        code = manager.provisioner.process.poll() if manager.provisioner and manager.provisioner.process else None
        if code is not None and not over.is_set():
            if code < 0:
                signal.signal(-code, signal.SIG_DFL) if -code not in (signal.SIGKILL, signal.SIGSTOP) else None
                os.kill(os.getpid(), -code)
            os._exit(code)


if __name__ == "__main__":
    sys.exit(run(Path(sys.argv[1])))
