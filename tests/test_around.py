"""Around: what is wrapped stays what it was, seen from every side. Native and fall-back alike."""

import copy
import functools
import gc
import inspect
import pickle
import sys
import traceback
import types
import warnings
import weakref

import pytest

from sabueso.capture import around
from sabueso.capture.around import Around, Patches, PlainAround

KINDS = [Around] if Around is PlainAround else [Around, PlainAround]
both = pytest.mark.parametrize("kind", KINDS)
native = pytest.mark.skipif(Around is PlainAround, reason="built without a compiler")


def scale(x: float, by: float = 2.0, *, plus: float = 0.0) -> float:
    """Scale it."""
    return x * by + plus


class Model:
    def forward(self, x: int) -> int:
        return x + 1


def seen(log: list) -> tuple:
    return (lambda args, kwargs: log.append(("before", args, kwargs)) or "token"), (lambda *told: log.append(("after", *told)))


@both
def test_before_and_after_see_the_call(kind: type) -> None:
    log: list = []
    wrapped = kind(scale, *seen(log))
    assert wrapped(3, plus=1.0) == 7.0
    assert log == [("before", (3,), {"plus": 1.0}), ("after", "token", 7.0, (3,), {"plus": 1.0})]
    only_after = kind(scale, None, lambda *told: log.append(told))
    assert only_after(1) == 2.0 and log[-1] == (None, 2.0, (1,), {})
    assert kind(scale, None, None)(1) == 2.0 and kind(scale, seen(log)[0], None)(1) == 2.0


@both
def test_an_error_passes_untouched_and_after_is_not_called(kind: type) -> None:
    log: list = []
    with pytest.raises(TypeError, match=r"scale\(\) missing 1 required positional argument"):
        kind(scale, *seen(log))()
    assert [x[0] for x in log] == ["before"]


@both
def test_errors_of_the_hooks_are_dropped_but_not_an_interrupt(kind: type) -> None:
    def failing(*_: object) -> None:
        raise ValueError("ours")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    assert kind(scale, failing, failing)(1) == 2.0
    for hooks in ((interrupted, None), (None, interrupted)):
        with pytest.raises(KeyboardInterrupt):
            kind(scale, *hooks)(1)


@both
def test_the_hooks_can_not_change_the_call(kind: type) -> None:
    assert kind(scale, lambda args, kwargs: kwargs.update(by=100.0), None)(3, by=2.0) == 6.0


@both
def test_it_looks_like_the_function(kind: type) -> None:
    wrapped = kind(scale, None, None)
    for name in ("__name__", "__qualname__", "__doc__", "__module__", "__dict__", "__annotations__", "__defaults__", "__code__"):
        assert getattr(wrapped, name) == getattr(scale, name)
    assert wrapped.__wrapped__ is scale and wrapped == scale and hash(wrapped) == hash(scale) and {scale: 1}[wrapped] == 1
    assert inspect.signature(wrapped) == inspect.signature(scale) and inspect.isfunction(wrapped) and callable(wrapped)
    assert inspect.getsource(wrapped) == inspect.getsource(scale) and repr(wrapped) == repr(scale)
    assert functools.wraps(wrapped)(lambda: None).__name__ == "scale"
    wrapped.marked = True
    assert scale.marked
    del wrapped.marked
    assert not hasattr(scale, "marked") and not hasattr(wrapped, "marked")
    assert weakref.ref(wrapped)() is wrapped


@both
def test_methods_bind(kind: type) -> None:
    log: list = []
    wrapped = kind(Model.forward, *seen(log))
    made = type("Made", (Model,), {"forward": wrapped})
    model = made()
    assert model.forward(1) == 2 and made.forward(model, 2) == 3 and log[0][1] == (model, 1)
    assert isinstance(model.forward, types.MethodType) and model.forward.__self__ is model and model.forward == model.forward
    made.f = kind(len, None, None)
    assert model.f([1, 2]) == 2  # a builtin in a class does not bind


@both
def test_copies_and_pickles_are_the_function(kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    loose = kind(scale, None, None)
    assert pickle.loads(pickle.dumps(loose)) is scale and copy.deepcopy(loose) == scale
    monkeypatch.setattr(sys.modules[__name__], "scale", loose)
    assert pickle.loads(pickle.dumps(loose)) is loose and copy.copy(loose) is loose  # by its name, as a function is


@both
def test_it_is_collected(kind: type) -> None:
    class Owner:
        pass

    def made() -> weakref.ref:
        owner = Owner()
        owner.call = kind(lambda: owner, lambda a, k: owner, None)
        return weakref.ref(owner)

    gone = made()
    gc.collect()
    assert gone() is None


@native
def test_no_frame_of_ours() -> None:
    def fails() -> None:
        warnings.warn("look", stacklevel=2)
        raise ValueError("theirs")

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            Around(fails, lambda a, k: None, None)()
        except ValueError as error:
            frames = [f.name for f in traceback.extract_tb(error.__traceback__)]
    assert frames == ["test_no_frame_of_ours", "fails"]
    assert said[0].filename == __file__


@both
def test_recursion_ends_as_ever(kind: type) -> None:
    def deep(n: int) -> int:
        return wrapped(n + 1)

    wrapped = kind(deep, lambda a, k: None, None)
    with pytest.raises(RecursionError):
        wrapped(0)


def test_patches_go_in_and_out() -> None:
    class Child(Model):
        @staticmethod
        def made(x: int) -> int:
            return x

        @classmethod
        def named(cls) -> str:
            return cls.__name__

    log: list = []
    before = dict(vars(Child))
    patches = Patches()
    for name in ("forward", "made", "named", "missing"):
        patches.around(Child, name, *seen(log))
    assert (Child().forward(1), Child.made(2), Child.named()) == (2, 2, "Child")
    assert [x[0] for x in log] == ["before", "after"] * 3
    patches.around(types.SimpleNamespace(kind=Model), "kind", *seen(log))  # a class is no function: isinstance would break
    patches.undo()
    assert dict(vars(Child)) == before and around._itself(scale) is scale
