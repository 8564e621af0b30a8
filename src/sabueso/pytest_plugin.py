"""The pytest plugin: `pytest --sabueso` watches each test and fails it with the diagnosis when there is a culprit.

`@pytest.mark.sabueso` watches one test without the option; `@pytest.mark.sabueso(ignore=["unseeded"])` leaves checks out. The fixture
`sabueso_run` runs a script watched. Nothing but pytest is imported until a test is watched.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the command line."""
    group = parser.getgroup("sabueso", "debugging of AI pipelines")
    group.addoption("--sabueso", action="store_true", help="Watch each test and fail it with the diagnosis when there is a culprit.")


def pytest_configure(config: pytest.Config) -> None:
    """The mark."""
    config.addinivalue_line("markers", "sabueso(ignore=[]): watch this test, and fail it when there is a culprit (but for those ignored)")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """The test itself, watched where that is asked for."""
    mark = item.get_closest_marker("sabueso")
    if mark is None and not item.config.getoption("sabueso"):
        return (yield)
    from .testing import report
    from .wiring import watch

    with tempfile.TemporaryDirectory(prefix="sabueso-") as folder:
        failure: BaseException | None = None
        with watch(quiet=True, dir=folder) as seen:
            try:
                result = yield
            except BaseException as error:
                failure = error
        ignore = set(mark.kwargs.get("ignore", ())) if mark is not None else set()
        left = [c for c in seen.diagnosis.culprits if c.check not in ignore] if seen.diagnosis is not None else []
        if failure is not None:
            if left:
                item.add_report_section("call", "sabueso", report(seen.diagnosis))
            raise failure
        if left:
            pytest.fail(report(seen.diagnosis), pytrace=False)
        return result


@pytest.fixture
def sabueso_run() -> Callable[..., Any]:
    """`sabueso_run("train.py", "--epochs", "1")`: the script run watched, with `.no_culprit()`, `.culprit(name)`, `.metric("auc").within(0.8, 1)`."""
    from .testing import run

    return run
