"""Hooks of sampled steps: out again where one step goes backward again and again."""

from __future__ import annotations

from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from sabueso.adapters.torch.arming import MOST_EVALUATIONS, Arming  # noqa: E402


def test_a_closure_is_looked_at_a_few_times_only() -> None:
    watch: Any = SimpleNamespace(armed=True, closure=True, evaluating=False, step=3, guard=lambda part: lambda f: f, tell=lambda *_: None)
    arming = Arming(watch)
    x = torch.ones(3, requires_grad=True)
    arming.put_in()
    try:
        for count in range(1, MOST_EVALUATIONS + 3):
            loss = (x * 2).sum()
            seen = arming.trace.of(loss) is not None
            arming.evaluated((loss,), None)
            assert seen == (count <= MOST_EVALUATIONS)
            assert not arming.trace.order
    finally:
        watch.armed = False
        arming.take_out()
    assert arming.mode is None and not arming.hooks


def test_each_thread_has_a_mode_of_its_own() -> None:
    watch: Any = SimpleNamespace(armed=True, closure=False, evaluating=False, step=1, guard=lambda part: lambda f: f, tell=lambda *_: None)
    arming, seen = Arming(watch), []
    arming.put_in()  # in this thread, where nothing is trained

    def serve() -> None:
        arming.put_in()
        seen.append(arming.trace.of(torch.ones(3) * 2) is not None)
        watch.armed = False
        arming.take_out()
        seen.append(arming.mode is None)

    worker = Thread(target=serve)
    worker.start()
    worker.join()
    arming.take_out()
    assert seen == [True, True] and arming.mode is None
