"""Zoom: runs the step that went wrong again, with every operation watched, and puts everything back as it was."""

from __future__ import annotations

import ast
import contextlib
import io
import sys
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any

from ..capture.origin import OWN, absolute, is_users
from ..capture.randomness import Streams
from ..capture.recorder import Recorder
from .backward import born, calls_of
from .dispatch import Hunt, TooLong, bad, mode_of, tensors
from .section import CannotReplay, Section, section
from .shield import Shield
from .turn import fed, standing, turn_of

MOST_BIRTHS = 3  # that are told


class Zoom:
    """One a recorder, found as `recorder.shared["zoom"]`."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._streams: Streams | None = None
        self._mode: type | None = None
        self._calls: type | None = None

    fed = staticmethod(fed)

    @property
    def streams(self) -> Streams:
        if self._streams is None:
            self._streams = Streams()
        return self._streams

    def prepare(self) -> None:
        """Take a root at 0 apart once, while the first steps are slow anyway: what runs for the first time takes three times as long."""
        torch = sys.modules["torch"]
        if self._mode is not None or torch.is_anomaly_enabled() or torch._C._len_torch_dispatch_stack() or torch.is_inference_mode_enabled():
            return
        hunt = Hunt(torch)
        with contextlib.suppress(Exception), torch._C.DisableTorchFunction(), torch.enable_grad():
            loss = torch.zeros(2, requires_grad=True, device="cpu").square().sum().sqrt()
            hunt.made_in[loss.grad_fn._sequence_nr()] = (None, None)
            born(hunt, loss, self._watching(hunt), torch)

    def look(self, kind: str, loss: Any, batch: Any, models: list[Any], random: Any, frame: FrameType) -> dict[str, Any]:
        """Replay the step whose backward pass the frame is about to run or has run.

        `kind` is "loss" or "gradient", `loss` the tensor given to backward, `batch` what the loader handed out last, `random` the streams
        at the step's beginning. The answer holds `births` (first first, only those that reach the end), `ran`, `equal`, `why`.
        """
        torch, began = sys.modules["torch"], time.perf_counter()
        told: dict[str, Any] = {"ran": False, "equal": None, "why": None, "births": [], "ops": 0}
        try:
            if torch.distributed.is_available() and torch.distributed.is_initialized() and torch.distributed.get_world_size() > 1:
                raise CannotReplay("several ranks would have to run the step together")
            self._replay(told, kind, loss, batch, models, random, outer(frame), torch)
        except CannotReplay as why:
            told["why"] = str(why)
        except TooLong:
            told["why"] = "the replay took too long"
        told["seconds"] = round(time.perf_counter() - began, 3)
        return told

    def _replay(self, told: dict[str, Any], kind: str, loss: Any, batch: Any, models: list[Any], random: Any, frame: FrameType, torch: Any) -> None:
        part = turn_of(frame, batch, torch) or section(standing(frame), lambda v: has_graph(v, torch))
        models = models or [v for v in frame.f_locals.values() if isinstance(v, torch.nn.Module)]
        attempts = ([random] if random is not None else []) + [None]  # None: the streams as they are now
        for way in (self._slopes, self._hunted) if kind == "gradient" else (self._hunted,):
            for states in attempts:
                shield = Shield(frame, models, torch, self.streams)
                try:
                    if states is not None:
                        self.streams.restore(states)
                    hunt, again, births = self._run(way, part, kind, loss if states is not None else None, batch, models, torch)
                finally:
                    shield.restore()
                if again is None:
                    raise CannotReplay("the step run again gave no loss")
                equal = same(loss, again, torch)
                if equal or states is None:
                    break
            if births is not None:
                break
        if not equal and not births:
            told["why"] = "it gave another loss: it draws on something that can't be put back"
        told.update(ran=True, equal=equal, ops=hunt.ops, lines=[part.first, part.last] if isinstance(part, Section) else None, births=births)

    def _run(self, way: Any, part: Any, kind: str, loss: Any, batch: Any, models: list[Any], torch: Any) -> tuple[Any, Any, Any]:
        """(hunt, the loss, births) of one run of the step; the births are None where this way can't tell them."""
        hunt = Hunt(torch)

        def forward() -> Any:
            again = part.run(torch) if not isinstance(part, Section) else run(part, batch)
            return again if isinstance(again, torch.Tensor) else None

        with quiet(), module_paths(hunt, models, torch), eager(torch), torch.enable_grad():
            try:
                return hunt, *way(hunt, forward, kind, loss, torch)
            except (TooLong, CannotReplay):
                raise
            except Exception as error:
                raise CannotReplay(f"the step run again raised {type(error).__name__}: {str(error)[:200]}") from error

    def _slopes(self, hunt: Hunt, forward: Any, kind: str, loss: Any, torch: Any) -> tuple[Any, Any]:
        """The section with its calls noted and its backward pass asked node by node; `loss` is None where it need not be equal."""
        if self._calls is None:
            self._calls = calls_of(torch)
        with self._calls(hunt) as calls:
            again = forward()
        if again is None or not calls.finite or not again.requires_grad or loss is not None and not same(loss, again, torch):
            return again, None
        return again, born(hunt, again, self._watching(hunt), torch)

    def _hunted(self, hunt: Hunt, forward: Any, kind: str, loss: Any, torch: Any) -> tuple[Any, Any]:
        """The section under the dispatch mode; for gradients its backward pass too, into tensors of our own."""
        with self._watching(hunt):
            again = ends = forward()
            if again is not None and kind == "gradient":
                leaves = [p for p in leaves_of(again) if p.requires_grad]
                ones = torch.ones_like(again) if again.dim() else None
                found = torch.autograd.grad(again, leaves, grad_outputs=ones, allow_unused=True) if again.requires_grad else []
                ends = [g for g in found if g is not None]
        return again, reaching(hunt, ends, torch)

    def sample(self, call: Any, frame: FrameType) -> dict[str, Any] | None:
        """The first operation that makes something non-finite of finite numbers while `call` runs; all is put back after it."""
        torch = sys.modules["torch"]
        shield = Shield(frame, [], torch, self.streams)
        hunt = Hunt(torch)
        try:
            with quiet(), self._watching(hunt):
                call()
            found = next((b for b in hunt.births if b["how"] == "computed"), None)
            return found if found is not None or hunt.births else in_numpy(call)
        except Exception:  # the sample can't be made again: nothing is claimed
            return None
        finally:
            shield.restore()

    def _watching(self, hunt: Hunt) -> Any:
        """The hunt as a dispatch mode."""
        if self._mode is None:
            self._mode = mode_of(hunt.torch)
        return self._mode(hunt)


def in_numpy(call: Any) -> dict[str, Any] | None:
    """The operation of NumPy that makes something non-finite of finite numbers while `call` runs: the first that it would warn of."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    try:
        with quiet(), numpy.errstate(divide="raise", over="raise", invalid="raise"):
            call()
    except FloatingPointError as error:
        trace, where = error.__traceback__, None
        while trace is not None:
            where, trace = (trace if is_users(trace.tb_frame.f_code.co_filename) else where), trace.tb_next
        if where is not None:
            op = str(error).rpartition(" ")[2]
            return {"op": op, "bad": 1, "inputs": [], "file": absolute(where.tb_frame.f_code), "line": where.tb_lineno}
    return None


def outer(frame: FrameType | None) -> FrameType:
    """The frame that called backward: the innermost outside of torch and of us."""
    while frame is not None:
        name, file = frame.f_globals.get("__name__", ""), frame.f_code.co_filename
        if not str(name).startswith("torch.") and name != "torch" and not file.startswith(OWN):
            return frame
        frame = frame.f_back
    raise CannotReplay("no frame called backward")


def run(part: Section, batch: Any) -> Any:
    """The section's statements in a copy of the frame's names; returns the loss."""
    names = {**part.frame.f_globals, **part.frame.f_locals}
    if part.target is not None:
        if batch is None:
            raise CannotReplay("the batch was overwritten in the step and is gone")
        bind(part, names, batch)
    exec(part.code, names)  # noqa: S102 (the person's own statements, under their own file name and lines)
    loss = eval(part.loss, names)  # noqa: S307
    for name, inner in part.inner:
        names = {**inner.frame.f_globals, **inner.frame.f_locals, name: loss}
        exec(inner.code, names)  # noqa: S102
        loss = eval(inner.loss, names)  # noqa: S307
    return loss


def bind(part: Section, names: dict[str, Any], batch: Any) -> None:
    """The batch into the target of the loop, as the loop did: `x, y`, or `k, (x, y)` of an enumerate."""
    target = part.target
    enumerated = isinstance(part.loop, ast.Call) and getattr(part.loop.func, "id", "") == "enumerate"
    if enumerated and isinstance(target, (ast.Tuple, ast.List)) and len(target.elts) == 2:
        target = target.elts[1]
    statement = ast.Assign(targets=[target], value=ast.Name("__batch__", ast.Load()))
    code = ast.fix_missing_locations(ast.Module(body=[ast.copy_location(statement, target)], type_ignores=[]))
    exec(compile(code, part.frame.f_code.co_filename, "exec"), {"__batch__": batch}, scope := {})  # noqa: S102
    names.update(scope)


def has_graph(value: Any, torch: Any, depth: int = 2) -> bool:
    """Is the value, or something in it, part of the graph?"""
    if isinstance(value, torch.Tensor):
        return value.grad_fn is not None
    if depth and isinstance(value, (list, tuple)):
        return any(has_graph(v, torch, depth - 1) for v in value[:50])
    if depth and isinstance(value, dict):
        return any(has_graph(v, torch, depth - 1) for v in list(value.values())[:50])
    return False


def leaves_of(loss: Any) -> list[Any]:
    """The tensors whose gradients the backward pass of a loss fills."""
    found, seen, queue = [], set(), [loss.grad_fn]
    while queue:
        node = queue.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            found.append(node.variable)
        queue.extend(n for n, _ in node.next_functions)
    return found


def same(a: Any, b: Any, torch: Any) -> bool:
    """Equal to the last bit, NaN where NaN."""
    a, b = a.detach(), b.detach()
    if a.shape != b.shape or a.dtype != b.dtype or a.device != b.device:
        return False
    return bool(torch.equal(torch.nan_to_num(a), torch.nan_to_num(b)) and torch.equal(a.isnan(), b.isnan()))


def reaching(hunt: Any, ends: Any, torch: Any) -> list[dict[str, Any]]:
    """The births whose values reach the loss or a gradient, in order."""
    numbers: set[int] = set()
    for end in tensors(torch, ends):
        if bad(torch, end):
            numbers |= hunt.taint.get(id(end), frozenset())
    return [hunt.births[k] for k in sorted(numbers)][:MOST_BIRTHS]


@contextlib.contextmanager
def module_paths(hunt: Any, models: list[Any], torch: Any) -> Iterator[None]:
    """Have the hunt know which module is at work."""
    names: dict[int, str] = {}
    for model in models:
        for path, module in model.named_modules():
            path = path.removeprefix("_orig_mod").lstrip(".")  # of a compiled model
            if path or id(module) not in names:
                names[id(module)] = path or type(module).__name__
    hooks = sys.modules["torch.nn.modules.module"]

    def enter(module: Any, args: Any) -> None:
        hunt.stack.append(names.get(id(module), type(module).__name__))

    def leave(module: Any, args: Any, result: Any) -> None:
        if hunt.stack:
            hunt.stack.pop()

    held = [hooks.register_module_forward_pre_hook(enter), hooks.register_module_forward_hook(leave, always_call=True)]
    try:
        yield
    finally:
        for handle in held:
            handle.remove()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """What the step prints is not printed twice."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def eager(torch: Any) -> Any:
    """Compiled models run eagerly, where a model was compiled at all."""
    if "torch._dynamo" in sys.modules and hasattr(torch.compiler, "set_stance"):
        return torch.compiler.set_stance("force_eager")
    return contextlib.nullcontext()
