"""The report and the live page: the culprit first, hostile names escaped, nothing odd hidden, nothing loaded, nobody let in without the token."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import numpy as np
import pytest
from made import HOSTILE, begun, diagnosis_of, ended, finished, huge, recorded
from starlette.testclient import TestClient

from sabueso.commands import page
from sabueso.diagnoses import Diagnosis
from sabueso.events import Fact
from sabueso.places import Place
from sabueso.serve.app import Pages
from sabueso.serve.guard import Guard, hosts
from sabueso.show.pages import compare, data, distributions, report, signals, site
from sabueso.store.browse import Browser
from sabueso.store.writer import Writer
from sabueso.wiring import kept

SCREENS = ("", "/signals", "/data", "/model", "/environment", "/facts", "/stage/train", "/stage/environment")
MEANS = {"missing-zero-grad": "Gradients add up."}
NEEDS = {"missing-zero-grad": ("weight_gradient", "train_loss")}


class Parts(HTMLParser):
    """The elements and texts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, Any]]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def ids(self) -> set[str]:
        return {a["id"] for _, a in self.tags if "id" in a}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finished(tmp_path_factory.mktemp("one"))


def client(home: Path, diagnose: Any = None) -> TestClient:
    pages = Pages(home, diagnose or diagnosis_of, kept, (NEEDS, MEANS), {"missing-zero-grad": ("train", "summary"), "unpinned": ("environment", "other")})
    guarded = Guard(pages.app(), "secret", hosts("127.0.0.1", 8765))
    made = TestClient(guarded, base_url="http://127.0.0.1:8765")
    made.cookies.set("sabueso_8765", "secret")
    return made


def reported(folder: Path) -> str:
    browser = Browser(folder)
    try:
        return report.render(kept(folder), browser, NEEDS, MEANS)
    finally:
        browser.close()


def test_damaged_runs_are_told_on_a_page(tmp_path: Path) -> None:
    folder = finished(tmp_path)
    (folder / "run.db").write_bytes(b"no database at all" * 100)
    answer = client(folder.parent).get(f"/r/{folder.name}")
    assert answer.status_code == 500 and "be read" in answer.text
    (folder / "run.json").write_text("{")
    assert client(folder.parent).get(f"/r/{folder.name}").status_code == 500
    assert client(folder.parent).get("/runs").status_code == 200


def safe(text: str) -> None:
    """No element or attribute that a name of the run made, and nothing that is loaded from elsewhere."""
    parts = Parts(text)
    scripts = [a for t, a in parts.tags if t == "script"]
    assert len(scripts) == 2 and all(set(a) <= {"src", "type", "id"} for a in scripts)
    assert "alert('x')" not in re.sub(r"&lt;script&gt;alert\(&#39;x&#39;\)&lt;/script&gt;", "", text)
    assert not [t for t, _ in parts.tags if t in ("b", "iframe", "object", "base")]
    loaded = [a.get(k) for _, a in parts.tags for k in ("src", "href", "action") if a.get(k)]
    assert not [x for x in loaded if not x.startswith(("/", "#", "data:"))], loaded
    assert not [a for _, a in parts.tags if "style" in a or any(k.startswith("on") for k in a)]


# ---- the report


def test_report_opens_on_the_culprit(run: Path) -> None:
    parts = Parts(reported(run))
    said = " ".join(" ".join(parts.texts).split())
    head = said.index("missing-zero-grad")
    for later in ("call opt.zero_grad()", "what it explains", "why this and not that", "rows-lost", "learning rate / 10", "could not be seen", "dead-units"):
        assert said.index(later) > head, later
    assert {"culprit", "signals", "data", "model", "environment", "facts"} <= parts.ids
    steps = [a["class"].split()[1] for t, a in parts.tags if t == "a" and a.get("class", "").startswith("step ")]
    assert steps == ["ok", "warned", "origin", "symptom", "dark", "dark"]  # never green where not watched


def test_report_is_safe_and_loads_nothing(run: Path) -> None:
    text = reported(run)
    safe(text)
    policy = next(a["content"] for t, a in Parts(text).tags if a.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy and "unsafe" not in policy


def test_report_shows_what_is_not_finite_without_scripts(run: Path) -> None:
    text = reported(run)
    assert "2 not finite, first at step 1 700" not in text and "2 not finite, first at step 1700" in text
    assert text.count('class="broken"') >= 2 and "1 not finite in 1 row" in text
    assert "1e+06" in text or "1 000 000" in text


def test_report_stays_small(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    many = {("weight_gradient", f"block.{n}.weight"): rng.lognormal(size=300) for n in range(500)}
    many |= {("update_ratio", f"block.{n}.weight"): rng.lognormal(size=300) for n in range(500)}
    long = {("train_loss", ""): rng.normal(size=2_000_000)} | {("logged", f"tag{n}"): rng.normal(size=20_000) for n in range(60)}
    text = reported(huge(tmp_path, "big", long | many))
    assert len(text.encode()) < 3_000_000
    assert "more curves are left out" in text


def test_inlined_numbers_are_all_there(run: Path) -> None:
    text = reported(run)
    held = json.loads(re.search(r'<script type="application/json" id="inlined">(.*?)</script>', text, re.S)[1])
    asked = {a["id"] for _, a in Parts(text).tags if "data-curve" in a}
    assert asked == set(held["curves"]) and set(held["heats"]) == {"weight_gradient"}


# ---- the page


@pytest.mark.parametrize("screen", SCREENS)
def test_screens_are_safe(run: Path, screen: str) -> None:
    answer = client(run.parent).get(f"/r/{run.name}{screen}")
    assert answer.status_code == 200
    safe(answer.text)
    assert "default-src 'none'" in answer.headers["content-security-policy"] and answer.headers["cache-control"] == "no-store"


def test_screens_have_the_ids_of_the_report(run: Path) -> None:
    whole, mine = Parts(reported(run)).ids, client(run.parent)
    for screen in ("", "/signals", "/data", "/model", "/environment", "/facts"):
        ids = Parts(mine.get(f"/r/{run.name}{screen}").text).ids - {"badge", "age", "main"}
        assert ids <= whole, screen


def test_what_a_model_was_given_stands_beside_its_fit() -> None:
    grid = [float(g) for g in range(21)]
    usual = {"count": 100, "missing": 0, "mean": 10.0, "sd": 6.0, "grid": grid}
    moved = {"row": 60, "count": 40, "grid": [g + 40 for g in grid]}
    number = {"name": HOSTILE, "kind": "number", "ref": usual, "cur": {**usual, "missing": 30}, "moved": moved}
    level = {"name": "kind", "kind": "level", "ref": {"count": 9}, "cur": {"count": 9}, "levels": ["a", "b"], "ref_counts": [9, 0], "cur_counts": [1, 8],
             "new": {"b": 8}, "new_count": 8}  # fmt: skip
    fact = Fact("inputs", {"model": "net", "method": "predict", "rows": 100, "fit_rows": 100, "columns": [level, number]}, Place(file="a.py", line=3), 0, 0)
    pair = distributions.beside_fit(fact, {HOSTILE}, "")
    first, other = pair["columns"]
    assert pair["sources"][1:] == ["given later", "where they moved"] and first["guilty"] and not other["guilty"]  # the guilty column comes first
    assert "30.0% missing" in first["cells"][1]["odd"] and "from row 60" in first["cells"][2]["said"] and "new: b" in other["cells"][1]["odd"]
    text = (
        site.environment().from_string('{% from "_macros.html" import distributions %}{{ distributions(c, s) }}').render(c=pair["columns"], s=pair["sources"])
    )
    assert text.count("<svg") == 5 and "<script>" not in text


def test_runs_and_comparison(tmp_path: Path) -> None:
    a, b = finished(tmp_path, "a"), finished(tmp_path, "b", shift=0.5)
    mine = client(a.parent)
    listed = mine.get("/runs").text
    assert a.name in listed and "missing-zero-grad, rows-lost" in listed
    said = mine.get("/compare", params={"a": a.name, "b": b.name}).text
    assert "train loss at step 21" in said and said.count("<figure") == 1
    assert mine.get("/compare", params={"a": a.name, "b": "../../etc"}).status_code == 404


def test_layers_that_are_not_finite_are_red_in_every_map(tmp_path: Path) -> None:
    """Moments are of finite elements: a layer of NaN has the norm 0, which is no healthy gradient."""
    folder, recorder = begun(tmp_path)
    for step, layer in ((s, n) for s in (0, 4, 9) for n in range(4)):
        bad = step > 0 and layer == 2
        for name, value in (("weight_gradient", 0.0 if bad else 1.0), ("gradient_nonfinite", 16.0 if bad else 0.0)):
            recorder.point(name, value, step, Place("train", tensor=f"layer.{layer}.weight"))
    for step in range(8):
        recorder.point("resident_memory", 1e8 + step, step)
    ended(folder)
    browser = Browser(folder)
    made = {m.name: heat for m, heat in signals.heats(browser, signals.sorted_out(browser.listing()).maps, 100, 100)}
    for name in ("weight_gradient", "gradient_nonfinite"):
        assert made[name].broken.tolist() == [[False] * 3, [False] * 3, [False, True, True], [False] * 3]
    assert "2 not finite in 1 row, first at step 4" in report.render(diagnosis_of(folder), browser, NEEDS, MEANS)
    assert not [a for a, _ in compare.paired(browser.listing(), browser.listing()) if a.name == "resident_memory"]  # seconds are no steps


def test_the_same_step_again_is_told_once() -> None:
    steps = [("fit", "a", "x.py:1"), *[("judge", "b", "x.py:2")] * 16, ("fit", "a", "x.py:1")]
    assert [(t["what"], t["times"]) for t in data.together(steps)] == [("fit", 1), ("judge", 16), ("fit", 1)]


def test_what_came_before_nan_is_in_sight(tmp_path: Path) -> None:
    """A curve that is not finite for the most part is shown about its beginning first; the whole stands with the signals."""
    losses = np.full(4000, np.nan)
    losses[:1700] = 0.5
    folder = huge(tmp_path, "nan", {("train_loss", ""): losses})
    text = report.render(diagnosis_of(folder), Browser(folder), NEEDS, MEANS)
    figures = {a["id"]: a for t, a in Parts(text).tags if t == "figure"}
    assert figures["near-1"]["data-part"] == "?from=1650&to=1750" and "data-part" not in figures["signal-1"]
    assert "2300 not finite, first at step 1700" in text and "steps 1650 to 1750 of 3999" in text


def test_numbers_come_packed(run: Path) -> None:
    mine = client(run.parent)
    number = next(s.number for s in Browser(run).listing() if s.name == "train_loss")
    held = np.frombuffer(mine.get(f"/r/{run.name}/curves/{number}?buckets=100").content, "<f8")
    assert held[0] == 0 and held[3] == 3000 and len(held) == 4 + 4 * held[1] + 4 * held[2]
    near = np.frombuffer(mine.get(f"/r/{run.name}/curves/{number}?from=695&to=705").content, "<f8")
    assert near[0] == 1 and near[1] == 11 and 1e6 in near
    assert mine.get(f"/r/{run.name}/heats/weight_gradient").status_code == 200
    assert mine.get(f"/r/{run.name}/heats/{HOSTILE}").status_code == 404


@pytest.mark.parametrize(
    "path", ["/r/nope", "/r/..%2f..", "/r/%2e%2e", "/assets/../site.py", "/assets/vendor/../../site.py", "/assets/%2e%2e/site.py", "/r/x/stage/nope"]
)
def test_nothing_else_is_served(run: Path, path: str) -> None:
    answer = client(run.parent).get(path)
    assert answer.status_code == 404 and "import" not in answer.text


def test_nobody_without_the_token(run: Path) -> None:
    mine = client(run.parent)
    mine.cookies.clear()
    assert mine.get("/runs").status_code == 403
    assert mine.get("/assets/charts.js").status_code == 403
    assert mine.get("/runs?token=wrong").status_code == 403
    answer = mine.get("/runs?token=secret&most=5", follow_redirects=False)
    assert answer.status_code == 303 and answer.headers["location"] == "/runs?most=5" and "httponly" in answer.headers["set-cookie"].lower()
    assert mine.get("http://127.0.0.1:8765//elsewhere.test/?token=secret", follow_redirects=False).headers["location"].startswith("/elsewhere")


@pytest.mark.parametrize("host", ["evil.test", "evil.test:8765", "127.0.0.1", "127.0.0.1:9999", "localhost.evil.test:8765"])
def test_other_host_names_are_refused(run: Path, host: str) -> None:
    assert client(run.parent).get("/runs", headers={"host": host}).status_code == 421


def test_hosts_of_all_addresses_are_those_of_this_machine() -> None:
    every = hosts("0.0.0.0", 1)
    assert "127.0.0.1:1" in every and f"{socket.gethostname()}:1".lower() in every and "0.0.0.0:1" not in every
    assert hosts("fe80::1", 2) >= {"[fe80::1]:2", "localhost:2"}


def test_nothing_can_be_sent(run: Path) -> None:
    assert client(run.parent).post("/runs").status_code == 405


def test_a_run_that_goes_on(tmp_path: Path) -> None:
    folder, recorder = begun(tmp_path)
    recorder.point("train_loss", 1.0, 0, Place("train"))
    found = [Diagnosis({"stages": ["train"]}, clean=["a", "b"])]
    mine = client(folder.parent, lambda f: found[0])
    page = mine.get(f"/r/{folder.name}").text
    assert 'data-live="yes"' in page and "running" in page and "No culprit so far" in page
    before = mine.get(f"/r/{folder.name}/pulse").json()
    assert before["badge"] == ["live", "running"] and not before["over"] and before["age"].startswith("last evidence")
    recorder.point("train_loss", float("nan"), 1, Place("train"))
    after = mine.get(f"/r/{folder.name}/pulse").json()
    assert after["changes"] != before["changes"]
    held = np.frombuffer(mine.get(f"/r/{folder.name}/curves/1").content, "<f8")
    assert held[1] == 2 and held[2] == 1  # the newest points are there though no chunk is sealed
    recorded(recorder, tmp_path, steps=5)
    Writer(folder).close()
    ended(folder)
    (folder / "diagnosis.json").write_text("{}")
    found[0] = diagnosis_of(folder)
    over = mine.get(f"/r/{folder.name}/pulse").json()
    while not over["over"]:
        over = mine.get(f"/r/{folder.name}/pulse").json()
    assert over["badge"] == ["good", "succeeded"] and over["version"] != after["version"]
    assert "missing-zero-grad" in mine.get(f"/r/{folder.name}").text


def test_a_writer_that_died_is_told(tmp_path: Path) -> None:
    code = "import sys, os; from sabueso.capture.recorder import Recorder; r = Recorder(sys.argv[1]); r.point('train_loss', 1.0, 0); os._exit(9)"
    folder, recorder = begun(tmp_path)
    recorder.at_exit()
    for log in folder.glob("*.log"):
        log.unlink()
    subprocess.run([sys.executable, "-c", code, str(folder)], check=False)
    pulse = client(folder.parent).get(f"/r/{folder.name}/pulse").json()
    assert pulse["badge"] == ["bad", "writer gone"] and "gone" in pulse["age"]


def test_names_without_evidence_make_pages_too(tmp_path: Path) -> None:
    folder, recorder = begun(tmp_path)
    recorder.at_exit()
    Writer(folder).close()
    ended(folder)
    empty = lambda f: Diagnosis({"id": "x", "command": [], "outcome": "succeeded", "stages": []})  # noqa: E731
    mine = client(folder.parent, empty)
    for screen in SCREENS:
        assert mine.get(f"/r/{folder.name}{screen}").status_code == 200, screen
    assert "no table" in mine.get(f"/r/{folder.name}/data").text.lower()


# ---- the commands


def sabueso(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if k != "SABUESO_HOME"}
    return subprocess.run([sys.executable, "-m", "sabueso", *words], capture_output=True, text=True, cwd=cwd, env=env, check=False)


def test_report_command(run: Path, tmp_path: Path) -> None:
    done = sabueso("report", str(run), "-o", "out.html", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("out.html ("), done.stderr
    assert (tmp_path / "out.html").read_text().startswith("<!doctype html>")
    assert sabueso("report", str(run), "--format", "markdown", "-o", "-", cwd=tmp_path).stdout.startswith("## sabueso: culprit missing-zero-grad")
    assert sabueso("report", str(run), "-o", "no/such/folder.html", cwd=tmp_path).returncode == 2


def test_the_page_beside_a_run(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a process of its own, which nothing of ours waits for; the address that is printed lets one in."""
    started: list[Any] = []
    popen = subprocess.Popen
    monkeypatch.setattr(page.subprocess, "Popen", lambda *a, **k: started.append(popen(*a, **k)))
    address = page.open_page(run)
    try:
        for _ in range(200):
            try:
                with urlopen(address.replace("?", "/pulse?")) as answer:
                    raise AssertionError(answer.status)
            except HTTPError as refused:  # urllib keeps no cookie: it was let in, and sent on
                assert refused.code == 403
                break
            except URLError:
                time.sleep(0.1)
    finally:
        started[0].terminate()
        started[0].wait()
    assert started[0].args[-1] == str(page.IDLE)


def test_a_page_ends_when_nobody_looks(run: Path) -> None:
    command = [sys.executable, "-m", "sabueso", "ui", "--dir", str(run.parent), "--port", "0", "--idle", "1"]
    assert subprocess.run(command, capture_output=True, text=True, timeout=60, check=False).returncode == 0


def test_ranks_are_told_apart(tmp_path: Path) -> None:
    folder, recorder = begun(tmp_path)
    code = "import sys; from sabueso.capture.recorder import Recorder; r = Recorder(sys.argv[1]); r.point('train_loss', 2.0, 0); r.at_exit()"
    recorder.point("train_loss", 1.0, 0)
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True)
    Writer(folder).close()
    ended(folder)
    said = client(folder.parent, diagnosis_of).get(f"/r/{folder.name}/signals").text
    assert len(set(re.findall(r"train loss · process \d+", said))) == 2


def test_pages_need_an_extra_and_say_so(tmp_path: Path) -> None:
    code = "import sys; sys.modules['jinja2'] = None; from sabueso.cli import main; sys.argv[1:] = ['report']; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 2 and "sabueso[ui]" in done.stderr


def test_the_command_line_loads_no_page() -> None:
    code = "import sys, sabueso.cli\nprint([m for m in ('jinja2', 'starlette', 'uvicorn', 'numpy', 'asyncio') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_prose_is_escaped() -> None:
    assert str(site.prose("call `f(<x>)`\n    a < b\nthen")) == 'call <code>f(&lt;x&gt;)</code> <pre class="edit">a &lt; b</pre>then '
