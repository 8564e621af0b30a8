"""The pages in a real browser: every screen draws, complains of nothing and asks nobody else; the culprit is in sight, also without scripts."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from made import HOSTILE, begun, finished

from sabueso import demo
from sabueso.places import Place

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [pytest.mark.heavy, pytest.mark.skipif(not CHROMIUM, reason="no Chromium (Debian: apt-get install chromium)")]
SCREENS = ("", "/signals", "/data", "/model", "/environment", "/facts", "/stage/train")
THROUGH = "async () => { for (const f of document.querySelectorAll('figure')) { f.scrollIntoView(); await new Promise(r => setTimeout(r, 60)); } }"
DRAWN = "() => [...document.querySelectorAll('figure[data-near]')].every(f => f.dataset.drawn)"
RED = """(figure) => {
  const c = figure.querySelector('canvas'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data, at = new Set();
  for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 200 && d[i] > 160 && d[i + 1] < 60 && d[i + 2] < 60) at.add((i / 4) % c.width);
  return [...at].map((x) => x / c.width);
}"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="no playwright (it comes with the extra `test`)")
    with playwright.sync_playwright() as p:
        made = p.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield made
        made.close()


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs: two made by hand, one of the demonstration."""
    folder = tmp_path_factory.mktemp("browser")
    finished(folder, "made")
    finished(folder, "other", shift=0.5)
    shutil.copy(Path(demo.__file__).parent / "digits.py", folder)
    env = {k: v for k, v in os.environ.items() if k != "SABUESO_HOME"} | {"OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-m", "sabueso", "run", "--dir", "runs", "digits.py"], cwd=folder, env=env, capture_output=True, check=True)
    return folder / "runs"


@pytest.fixture(scope="module")
def address(homes: Path) -> Iterator[str]:
    token = secrets.token_urlsafe(8)
    env = {k: v for k, v in os.environ.items() if k != "SABUESO_HOME"} | {"SABUESO_TOKEN": token}
    server = subprocess.Popen([sys.executable, "-m", "sabueso", "ui", "--dir", str(homes), "--port", "0"], env=env, stdout=subprocess.PIPE, text=True)
    yield re.match(r"http://[^/]+", server.stdout.readline()).group() + f"?token={token}"
    server.terminate()
    server.wait()


class Visit:
    """A page that notes what it should not do."""

    def __init__(self, chromium: Any, address: str | None = None, **settings: Any) -> None:
        self.context = chromium.new_context(**({"viewport": {"width": 1280, "height": 800}} | settings))
        self.page, self.wrong = self.context.new_page(), []
        self.page.on("console", lambda m: self.wrong.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda e: self.wrong.append(str(e)))
        self.page.on("request", lambda r: None if r.url.startswith(("http://127.0.0.1:", "file:", "data:")) else self.wrong.append(r.url))
        self.page.on("dialog", lambda d: self.wrong.append(f"alert {d.message}"))
        self.base = address.partition("?")[0] if address else ""
        if address:
            self.page.goto(address.replace("?", "/runs?"))

    def go(self, path: str) -> Any:
        self.page.goto(self.base + path)
        return self.page

    def __enter__(self) -> Visit:
        return self

    def __exit__(self, *_: Any) -> None:
        self.context.close()


def names(homes: Path) -> list[str]:
    return [p.name for p in sorted(homes.iterdir()) if p.is_dir()]


def test_every_screen_of_every_run(chromium: Any, address: str, homes: Path) -> None:
    with Visit(chromium, address) as visit:
        for name in names(homes):
            for screen in SCREENS:
                page = visit.go(f"/r/{name}{screen}")
                page.evaluate(THROUGH)
                page.wait_for_timeout(100)
                page.wait_for_function(DRAWN, timeout=20_000)
                assert page.locator("main").inner_text().strip(), f"{name}{screen} is empty"
        assert visit.wrong == []


def test_culprit_is_in_sight(chromium: Any, address: str, homes: Path) -> None:
    """Cause, place, numbers and remedy, without scrolling, at 1280 x 800; the first signal too."""
    with Visit(chromium, address) as visit:
        for name in names(homes):
            page = visit.go(f"/r/{name}")
            for part in (".verdict h1", ".verdict .place", ".verdict .says", ".verdict .numbers", ".verdict .remedy", ".trail .origin", "figure.chart"):
                box = page.locator(part).first.bounding_box()
                assert box and box["y"] + min(box["height"], 150) <= 800, f"{part} of {name} lies at {box}"


@pytest.mark.parametrize("screen", SCREENS)
def test_twice_as_large_nothing_runs_out_of_sight(chromium: Any, address: str, homes: Path, screen: str) -> None:
    with Visit(chromium, address, viewport={"width": 640, "height": 400}, device_scale_factor=2) as visit:
        page = visit.go(f"/r/{names(homes)[0]}{screen}")
        page.wait_for_timeout(300)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 640


def test_what_is_not_finite_is_red_at_every_zoom(chromium: Any, address: str, homes: Path) -> None:
    name = next(n for n in names(homes) if n.endswith("made"))
    with Visit(chromium, address) as visit:
        page = visit.go(f"/r/{name}/signals")
        figure = page.locator("figure[data-title='train loss']")
        figure.scroll_into_view_if_needed()
        page.wait_for_function(DRAWN)
        (whole, *_) = figure.evaluate(RED)
        assert 0.5 < whole < 0.7  # step 1700 of 3000
        box = figure.locator(".u-over").bounding_box()
        page.mouse.move(box["x"] + 0.55 * box["width"], box["y"] + 20)
        page.mouse.down()
        page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 20, steps=4)
        page.mouse.up()
        page.wait_for_timeout(800)
        assert figure.evaluate(RED) and "1 NaN" in figure.get_attribute("data-broken")
        heat = page.locator("figure.heat")
        heat.scroll_into_view_if_needed()
        page.wait_for_function(DRAWN)
        assert heat.evaluate(RED)
        assert visit.wrong == []


def test_reached_by_keyboard(chromium: Any, address: str, homes: Path) -> None:
    with Visit(chromium, address) as visit:
        page = visit.go(f"/r/{names(homes)[0]}")
        page.wait_for_function(DRAWN)
        met = []
        for _ in range(40):
            page.keyboard.press("Tab")
            met.append(page.evaluate("() => document.activeElement.textContent.trim().slice(0, 30)"))
        assert {"to the content", "signals", "data", "runs", "smooth"} <= set(met), met
        page.goto(visit.base + f"/r/{names(homes)[0]}")
        while page.evaluate("() => document.activeElement.textContent") != "data":
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_url("**/data")


def test_readable_without_scripts(chromium: Any, address: str, homes: Path) -> None:
    with Visit(chromium, address, java_script_enabled=False) as visit:
        page = visit.go(f"/r/{next(n for n in names(homes) if n.endswith('made'))}")
        said = page.locator("main").inner_text()
        assert "missing-zero-grad" in said and "gradients are not cleared" in said and HOSTILE in said
        box = page.locator("figure.chart svg").first.bounding_box()
        assert box["width"] > 200 and box["height"] > 60


def test_report_from_disk_with_no_network(chromium: Any, homes: Path, tmp_path: Path) -> None:
    for name in names(homes):
        subprocess.run([sys.executable, "-m", "sabueso", "report", str(homes / name), "-o", f"{name}.html"], cwd=tmp_path, check=True, capture_output=True)
        assert (tmp_path / f"{name}.html").stat().st_size < 1_000_000
        with Visit(chromium, offline=True) as visit:
            visit.page.goto((tmp_path / f"{name}.html").as_uri())
            visit.page.evaluate(THROUGH)
            visit.page.wait_for_timeout(200)
            visit.page.wait_for_function("() => [...document.querySelectorAll('figure')].every(f => f.dataset.drawn)", timeout=20_000)
            assert visit.wrong == []


def test_comparison(chromium: Any, address: str, homes: Path) -> None:
    a, b = (n for n in names(homes) if not n.endswith("digits"))
    with Visit(chromium, address) as visit:
        page = visit.go(f"/compare?a={a}&b={b}")
        page.wait_for_function("() => document.querySelector('figure[data-drawn]')")
        assert "first divergence" in page.locator("main").inner_text() and visit.wrong == []


def test_live_evidence_is_on_screen_soon(chromium: Any, tmp_path: Path) -> None:
    folder, recorder = begun(tmp_path)
    for step in range(50):
        recorder.point("train_loss", 1.0, step, Place("train"))
    env = {**os.environ, "SABUESO_TOKEN": "t"}
    env.pop("SABUESO_HOME", None)
    server = subprocess.Popen([sys.executable, "-m", "sabueso", "ui", "--dir", str(folder.parent), "--port", "0"], env=env, stdout=subprocess.PIPE, text=True)
    try:
        with Visit(chromium) as visit:
            visit.page.goto(server.stdout.readline().strip())
            visit.page.wait_for_function("() => document.querySelector('figure[data-drawn]')")
            recorder.point("train_loss", float("nan"), 50, Place("train"))
            visit.page.wait_for_function("() => document.querySelector('figure[data-broken]')", timeout=5000)
            assert visit.page.locator("#badge").inner_text() == "running" and visit.wrong == []
    finally:
        server.terminate()
        server.wait()
