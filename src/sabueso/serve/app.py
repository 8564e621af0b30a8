"""The addresses of the page: screens of a run, its numbers packed, its pulse; runs and the comparison of two."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from ..diagnoses import Diagnosis
from ..errors import SabuesoError
from ..findings import Finding
from ..show import phrases
from ..show.pages import compare, culprit, data, environment, facts, model, report, runs, signals, site
from ..stages import ACROSS, STAGES
from ..store.layout import runs_in
from .held import Held, Shelf

TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".txt": "text/plain"}
ASSETS = frozenset({*site.SCRIPTS, *site.STYLES, "icon.svg"})
MOST_RUNS, MOST_CURVES, MOST_HEAT = 200, 120, (300, 1000)
STRIP, MOST_FACTS = 3, 5000


class Pages:
    """The screens of the runs under `home`; `known` are the evidence names and the meaning of each check, `checks` their (stage, summary)."""

    def __init__(self, home: Path, diagnose: Callable[[Path], Diagnosis], kept: Callable[[Path], Diagnosis | None], known: Any, checks: dict[str, Any]) -> None:
        self.home, self.shelf, self.checks = home, Shelf(diagnose, kept), checks
        self.needs, self.meanings = known

    def app(self) -> Starlette:
        """All addresses."""
        routes = [
            Route("/", self.newest), Route("/runs", self.runs), Route("/compare", self.compare), Route("/assets/{path:path}", self.asset),
            Route("/r/{run}", self.culprit), Route("/r/{run}/pulse", self.pulse), Route("/r/{run}/report", self.report),
            Route("/r/{run}/curves/{number:int}", self.curve), Route("/r/{run}/heats/{name}", self.heat), Route("/r/{run}/stage/{stage}", self.stage),
            Route("/r/{run}/{screen}", self.screen),
        ]  # fmt: skip
        return Starlette(routes=routes, exception_handlers={SabuesoError: trouble, HTTPException: trouble})

    # ---- pages

    def newest(self, request: Request) -> Response:
        """The culprit of the newest run."""
        found = runs_in(self.home)
        return RedirectResponse(f"/r/{found[0].name}" if found else "/runs", 303)

    def runs(self, request: Request) -> Response:
        """All runs; no evidence of any is read."""
        found, most = runs_in(self.home), number(request, "most", MOST_RUNS)
        text = site.render("page.html", top, run=None, screen="runs", title="runs", part="_runs.html", rows=runs.rows(found[:most]), total=len(found))
        return HTMLResponse(text)

    def culprit(self, request: Request) -> Response:
        """The first screen."""
        held = self.held(request)
        listing = held.browser.listing()
        first = held.diagnosis.culprits[0] if held.diagnosis.culprits else None
        chosen = signals.strip(first, self.needs, signals.sorted_out(listing), listing)
        named = signals.titles(listing)
        onset, near = first.place.step if first else None, culprit.near(first)
        charts = [signals.chart(held.browser, s, named[s.number], onset, part=signals.window(s, near)) for s in chosen[:STRIP]]
        tried = [*held.browser.facts("experiment"), *held.browser.facts("counterfactual")]
        about = data.about(held.browser.profiles("column"), held.browser.facts, held.diagnosis, held.browser.meta.get("cwd") or "")
        return self.page(
            request, held, "culprit", "_culprit.html", columns=about, c=culprit.screen(held.diagnosis, tried, self.meanings, not held.ended), charts=charts
        )

    def screen(self, request: Request) -> Response:
        """Signals, data, model, environment or facts."""
        name = request.path_params["screen"]
        made = {"signals": self.signals, "data": self.data, "model": self.model, "environment": self.environment, "facts": self.facts}.get(name)
        if made is None:
            raise HTTPException(404, f"there is no screen {name!r}")
        held = self.held(request)
        return self.page(request, held, name, f"_{name}.html", **made(request, held))

    def signals(self, request: Request, held: Held) -> dict[str, Any]:
        """Curves and heat maps."""
        listing = held.browser.listing()
        found, first = signals.sorted_out(listing), next(iter(held.diagnosis.culprits), None)
        layers = request.query_params.get("layer")
        curves = [s for s in listing if s.count and signals.label(s) == layers] if layers else found.curves
        maps = [report.told_map(m, heat, first) for m, heat in signals.heats(held.browser, found.maps, *MOST_HEAT)] if not layers else []
        named, onset = signals.titles(listing), first.place.step if first else None
        drawn = [signals.chart(held.browser, s, named[s.number], onset) for s in curves[:MOST_CURVES]]
        logged = signals.histograms(held.browser.profiles("logged_histogram")) if not layers else []
        return {"s": {"curves": drawn, "left_out": max(0, len(curves) - MOST_CURVES), "maps": maps, "histograms": logged}}

    def data(self, request: Request, held: Held) -> dict[str, Any]:
        """Rows and columns."""
        return {"d": data.screen(held.browser.facts, held.browser.profiles(), held.diagnosis, held.browser.meta.get("cwd") or "", number(request, "most", 200))}

    def model(self, request: Request, held: Held) -> dict[str, Any]:
        """Modules and estimators."""
        listing = held.browser.listing()
        return {"m": model.screen(held.browser.facts, signals.sorted_out(listing), listing, held.diagnosis, held.browser.meta.get("cwd") or "")}

    def environment(self, request: Request, held: Held) -> dict[str, Any]:
        """Where it ran."""
        listing = held.browser.listing()
        named = signals.titles(listing)
        charts = [signals.chart(held.browser, s, named[s.number]) for s in signals.resources(listing)]
        return {"e": environment.screen(held.browser.meta, held.browser.facts, charts)}

    def facts(self, request: Request, held: Held) -> dict[str, Any]:
        """A page of the log, of one name where one is asked for."""
        counts, named, start = held.browser.fact_counts(), request.query_params.get("name"), number(request, "from", 0)
        total, here = counts.get(named, 0) if named else sum(counts.values()), f"/r/{held.folder.name}/facts"
        mine = f"name={named}&" if named in counts else ""
        filters = [("all", sum(counts.values()), not mine, here), *((n, c, n == named, f"{here}?name={n}") for n, c in counts.items())]
        pages = [("earlier", f"{here}?{mine}from={max(0, start - facts.PAGE)}")] if start else []
        pages += [("later", f"{here}?{mine}from={start + facts.PAGE}")] if start + facts.PAGE < total else []
        rows = held.browser.facts(named if mine else None, start, facts.PAGE)
        return {"l": facts.screen(rows, total, held.browser.meta.get("cwd") or "", filters, pages)}

    def stage(self, request: Request) -> Response:
        """What was found in a stage, and what every check of it answered."""
        held, stage = self.held(request), request.path_params["stage"]
        if stage not in (*STAGES, *ACROSS):
            raise HTTPException(404, f"there is no stage {stage!r}")
        here = [f for f in held.diagnosis.findings if f.stage == stage]
        state = next((s for s in culprit.trail(held.diagnosis) if s["stage"] == stage), {"state": "across stages", "kind": "dark"})
        rows = [facts.row(f, held.browser.meta.get("cwd") or "") for f in held.browser.facts(most=MOST_FACTS) if f.place.stage == stage][:60]
        told = [culprit.told(f, held.diagnosis, {}) for f in here]
        return self.page(
            request, held, stage, "_stage.html", stage=stage, state=state, findings=told, checks=self.answers(held.diagnosis, stage, here), facts=rows
        )

    def answers(self, diagnosis: Diagnosis, stage: str, here: list[Finding]) -> list[tuple[str, str, str]]:
        """(check, what it answered, what it looks for)."""
        found, blind = {f.check for f in here}, {b.check for b in diagnosis.blind}
        word = lambda n: "found" if n in found else "blind" if n in blind else "clean" if n in diagnosis.clean else "does not apply"  # noqa: E731
        return [(n, word(n), summary) for n, (own, summary) in self.checks.items() if own == stage]

    def compare(self, request: Request) -> Response:
        """Two runs."""
        a, b = (self.held(request, request.query_params.get(k, "")) for k in "ab")
        address = lambda side, n: f"/r/{(a, b)[side].folder.name}/curves/{n}"  # noqa: E731
        made = compare.screen(a.browser, b.browser, (a.diagnosis, b.diagnosis), address)
        return HTMLResponse(site.render("page.html", top, run=None, screen="compare", title="two runs", part="_compare.html", **made))

    def report(self, request: Request) -> Response:
        """The one-file report, to be kept."""
        held = self.held(request)
        name = site.slug(held.folder.name)
        text = report.render(held.diagnosis, held.browser, self.needs, self.meanings)
        return HTMLResponse(text, headers={"content-disposition": f'attachment; filename="{name}.html"'})

    # ---- numbers

    def curve(self, request: Request) -> Response:
        """One series between two steps, reduced and packed."""
        held, asked = self.held(request), request.query_params
        ends = [int(asked[k]) if asked.get(k, "").lstrip("-").isdigit() else None for k in ("from", "to")]
        curve = held.browser.curve(request.path_params["number"], max(10, min(4000, number(request, "buckets", 1000))), *ends)
        return Response(curve.packed(), media_type="application/octet-stream")

    def heat(self, request: Request) -> Response:
        """One layer x step map, packed."""
        held, name = self.held(request), request.path_params["name"]
        asked = signals.with_counts(signals.sorted_out(held.browser.listing()).maps, name)
        made = {m.name: heat for m, heat in signals.heats(held.browser, asked, *MOST_HEAT)}
        if name not in made:
            raise HTTPException(404, f"there is no map {name!r}")
        return Response(made[name].packed(), media_type="application/octet-stream")

    def pulse(self, request: Request) -> Response:
        """How the run is doing: small, asked for twice a second."""
        held = self.held(request)
        state = {"version": seen(held), "changes": str(held.look()), "age": held.age(), "badge": badge(held), "over": held.settled}
        return JSONResponse(state)

    def asset(self, request: Request) -> Response:
        """A script or style of ours."""
        path = request.path_params["path"]
        if path not in ASSETS:
            raise HTTPException(404, "no such file")
        return Response(site.asset(path), media_type=TYPES[Path(path).suffix], headers={"cache-control": "max-age=3600"})

    # ---- what they share

    def held(self, request: Request, name: str | None = None) -> Held:
        """The run that an address names, read up to now."""
        name = request.path_params["run"] if name is None else name
        folder = self.home / name
        if not name or name != folder.name or name.startswith(".") or not (folder / "run.json").is_file():
            raise HTTPException(404, f"there is no run {name!r} in {self.home}")
        held = self.shelf.take(folder)
        held.look()
        return held

    def page(self, request: Request, held: Held, screen: str, template: str, **context: Any) -> Response:
        """One screen of a run within the frame that all have."""
        base = f"/r/{held.folder.name}"
        link = lambda name, *rest: "/runs" if name == "runs" else "/".join([base, *([] if name == "culprit" else [name]), *rest])  # noqa: E731
        run = {**held.diagnosis.run, **{k: held.browser.meta.get(k) for k in ("id", "command", "outcome", "seconds")}}
        command = phrases.command(run)
        text = site.render("page.html", link, run=run, command=command, badge=badge(held), screen=screen, seen=seen(held), title=f"{screen} of {command}",
                           part=template, **context)  # fmt: skip
        return HTMLResponse(text)


def top(screen: str, *rest: str) -> str:
    """Addresses of a page that is of no single run."""
    return "/" + screen


def badge(held: Held) -> tuple[str, str]:
    """(kind, word) of the state of a run."""
    return ("bad", "writer gone") if held.gone else culprit.badge(held.browser.meta)


def seen(held: Held) -> str:
    """What of a page is out of date once it differs."""
    return f"{held.version}-{held.browser.meta.get('outcome', '')}-{held.gone}"


def number(request: Request, name: str, default: int) -> int:
    """A whole number of the address, from 0 up."""
    text = request.query_params.get(name, "")
    return min(int(text), 1 << 40) if text.isdigit() and len(text) < 13 else default


def trouble(request: Request, error: Exception) -> Response:
    """What can't be shown, said on a page."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    said = error.detail if isinstance(error, HTTPException) else str(error)
    return HTMLResponse(site.render("page.html", top, run=None, screen="trouble", title="trouble", part="_trouble.html", said=said), status)
