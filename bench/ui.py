"""What the page and the report cost: bytes, main-thread CPU and heap in headless Chromium, server time, and how soon live evidence is on screen.

    python bench/ui.py            # needs sabueso[ui], playwright, and a Chromium (Debian: apt-get install chromium)

CPU is that of the page's main thread, so that a busy machine does not matter; server times are the least of several.
Beside TensorBoard, where `build/oracle` has it (`make oracle`), on the same series in the same minute.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from made import begun, huge  # noqa: E402

from sabueso.exchange import tensorboard  # noqa: E402
from sabueso.places import Place  # noqa: E402
from sabueso.show.pages import report, runs, site  # noqa: E402
from sabueso.store.browse import Browser  # noqa: E402
from sabueso.store.layout import runs_in  # noqa: E402
from sabueso.store.writer import create_folder, write_meta  # noqa: E402
from sabueso.wiring import kept  # noqa: E402

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser") or ""
ARGS = ["--no-sandbox", "--disable-gpu"]
ORACLE = ROOT / "build" / "oracle" / "bin" / "python"
THROUGH = "async () => { for (const f of document.querySelectorAll('figure')) { f.scrollIntoView(); await new Promise(r => setTimeout(r, 60)); } }"
DRAWN = "() => document.querySelectorAll('figure[data-near]').length && [...document.querySelectorAll('figure[data-near]')].every(f => f.dataset.drawn)"


def million(home: Path) -> Path:
    """1 000 000 points in ten curves, one with a NaN and one with a spike, and a map of 48 layers."""
    rng = np.random.default_rng(0)
    series = {("train_loss", "") if n == 0 else ("logged", f"curve {n}"): np.cumsum(rng.normal(size=95_000)) for n in range(10)}
    series[("train_loss", "")][61_803] = np.nan
    series[("logged", "curve 3")][31_415] = 1e6
    series |= {("weight_gradient", f"block.{n}.weight"): rng.lognormal(size=1_042) for n in range(48)}
    return huge(home, "million", series)


def ten_million(home: Path) -> Path:
    """10 000 000 points: one curve of half of them, 500 layers with ten series each."""
    rng = np.random.default_rng(1)
    names = (
        "weight_gradient",
        "update_ratio",
        "weight_norm",
        "gradient_zeros",
        "gradient_nonfinite",
        "output_mean",
        "output_std",
        "output_nonfinite",
        "units_dead",
        "norm_rows",
    )
    series = {("train_loss", ""): rng.normal(size=5_000_000)}
    series |= {(name, f"block.{n}.weight"): rng.lognormal(size=1000) for name in names for n in range(500)}
    return huge(home, "ten-million", series)


def least(call: Any, times: int = 5) -> float:
    """Milliseconds of CPU of this process, the least of several."""
    taken = []
    for _ in range(times):
        began = time.process_time()
        call()
        taken.append(time.process_time() - began)
    return 1000 * min(taken)


@contextmanager
def served(home: Path) -> Iterator[str]:
    """`sabueso ui` on those runs; the address without the token, which a first visit would carry."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    token = secrets.token_urlsafe(8)
    command = [sys.executable, "-m", "sabueso", "ui", "--dir", str(home), "--port", str(port)]
    server = subprocess.Popen(command, env={**os.environ, "SABUESO_TOKEN": token}, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    server.stdout.readline()
    try:
        yield f"http://127.0.0.1:{port}/?token={token}"
    finally:
        server.terminate()
        server.wait()


@contextmanager
def browser() -> Iterator[Any]:
    """A headless Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as p:
        made = p.chromium.launch(executable_path=CHROMIUM, args=ARGS)
        try:
            yield made
        finally:
            made.close()


def visited(chromium: Any, url: str, first: str | None = None, ready: str = DRAWN, scroll: bool = False) -> dict[str, float]:
    """Bytes over the wire, milliseconds of main-thread CPU and megabytes of heap of one page, once its charts are drawn."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    if first:
        page.goto(first)
        page.goto("about:blank")
    tools = context.new_cdp_session(page)
    tools.send("Network.enable")
    tools.send("Performance.enable", {"timeDomain": "threadTicks"})
    got = [0]
    tools.on("Network.loadingFinished", lambda e: got.__setitem__(0, got[0] + e["encodedDataLength"]))
    page.goto(url)
    page.wait_for_function(ready, timeout=60_000)
    if scroll:
        page.evaluate(THROUGH)
        page.wait_for_function("() => [...document.querySelectorAll('figure')].every(f => f.dataset.drawn)", timeout=60_000)
    tools.send("HeapProfiler.collectGarbage")
    held = {m["name"]: m["value"] for m in tools.send("Performance.getMetrics")["metrics"]}
    context.close()
    return {"bytes": got[0], "cpu": 1000 * held["TaskDuration"], "heap": held["JSHeapUsedSize"] / 1e6}


def live(chromium: Any, tmp: Path) -> float:
    """Seconds from a NaN that is recorded to its mark on the screen."""
    folder, recorder = begun(tmp)
    for step in range(500):
        recorder.point("train_loss", 1.0 / (1 + step), step, Place("train"))
    with served(folder.parent) as address:
        page = chromium.new_page()
        page.goto(address)
        page.wait_for_function(DRAWN)
        time.sleep(3)
        began = time.monotonic()
        recorder.point("train_loss", float("nan"), 500, Place("train"))
        page.wait_for_function("() => document.querySelector('figure[data-broken]')", polling=20)
        taken = time.monotonic() - began
        page.close()
    return taken


def theirs(chromium: Any, folder: Path, tmp: Path) -> dict[str, float] | None:
    """TensorBoard on the same curves; None where it is not there."""
    if not ORACLE.exists():
        return None
    held = Browser(folder)
    curves = [s for s in held.listing() if s.name in ("train_loss", "logged")]
    tensorboard.write(tmp / "tb" / "run", [(s.place.tensor or s.name, list(zip(*(a.tolist() for a in held.points(s.number))))) for s in curves])
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [ORACLE, "-m", "tensorboard.main", "--logdir", tmp / "tb", "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(120):
            try:
                if b"curve 3" in urlopen(f"http://127.0.0.1:{port}/data/plugin/scalars/tags").read():
                    break
            except OSError:
                pass
            time.sleep(0.5)
        ready = "() => document.querySelectorAll('scalar-card svg path, line-chart canvas, line-chart svg').length >= 10"
        return visited(chromium, f"http://127.0.0.1:{port}/", ready=ready)
    except Exception as error:
        print(f"TensorBoard was not measured: {error}")
        return None
    finally:
        server.terminate()
        server.wait()


def many(home: Path) -> None:
    """A thousand runs that ended."""
    for n in range(1000):
        folder = create_folder(home, f"r{n}", {"command": ["python", "train.py"], "cwd": "/", "started": time.time()})
        write_meta(folder, {"layout": 1, "id": folder.name, "started": time.time(), "outcome": "succeeded", "seconds": 1.0, "verdict": ["missing-zero-grad"]})


def page_of_runs(home: Path) -> str:
    """The list of runs, as the server writes it."""
    found = runs_in(home)
    return site.render("page.html", lambda *_: "/", run=None, screen="runs", title="runs", part="_runs.html", rows=runs.rows(found), total=len(found))


def rows(tmp: Path) -> Iterator[tuple[str, str, str]]:
    """(what, measured, goal)."""
    folder = million(tmp / "one")
    held = Browser(folder)
    one = next(s for s in held.listing() if s.name == "train_loss")
    yield "95 000 points of one series bucketed to 1000", f"{least(lambda: held.curve(one.number, 1000)):.1f} ms", "25 ms"
    yield "the list of series of that run", f"{least(held.listing):.1f} ms", "-"
    many(tmp / "many")
    yield "the page of 1000 runs, read and written", f"{least(lambda: page_of_runs(tmp / 'many')):.0f} ms", "300 ms"
    with browser() as chromium:
        with served(folder.parent) as address:
            for screen, scroll in (("", False), ("/signals", False), ("/signals", True)):
                got = visited(chromium, f"{address.split('/?')[0]}/r/{folder.name}{screen}", address, scroll=scroll)
                name = f"1 000 000 points: {screen[1:] or 'culprit'} screen{', scrolled through' if scroll else ''}"
                yield name, f"{got['bytes'] / 1000:.0f} KB, {got['cpu']:.0f} ms CPU, {got['heap']:.1f} MB heap", "350 KB, 250 ms, 10 MB"
        got = theirs(chromium, folder, tmp)
        if got:
            yield "TensorBoard on the same ten curves", f"{got['bytes'] / 1000:.0f} KB, {got['cpu']:.0f} ms CPU, {got['heap']:.1f} MB heap", "-"
        yield "live evidence on screen", f"{live(chromium, tmp / 'live'):.2f} s", "1 s"
        for path, goal in ((folder, "1 MB"), (ten_million(tmp / "ten"), "3 MB")):
            began = time.process_time()
            text = report.render(kept(path), Browser(path), {}, {})
            took = time.process_time() - began
            file = tmp / f"{path.name}.html"
            file.write_text(text)
            got = visited(chromium, file.as_uri())
            yield (
                f"report of {path.name.partition('-')[2].partition('-')[2]}",
                f"{len(text.encode()) / 1e6:.2f} MB ({took:.1f} s to write, {got['cpu']:.0f} ms CPU to open)",
                goal,
            )


def main() -> None:
    """Print the table."""
    if not CHROMIUM:
        sys.exit("no Chromium: apt-get install chromium, or name one in CHROMIUM")
    with tempfile.TemporaryDirectory() as folder:
        tmp = Path(folder)
        (tmp / "live").mkdir()
        print(f"{'what':60} {'measured':60} goal")
        for what, measured, goal in rows(tmp):
            print(f"{what:60} {measured:60} {goal}", flush=True)


if __name__ == "__main__":
    main()
