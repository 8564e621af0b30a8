"""Memory that grows with the steps, and who holds it: containers of the program that get longer, and caches that never give anything back.

The resident memory is read at each look of the sampler. Only once it has grown by 32 MB since the steps began are the program's own
containers looked at: those that its modules, its running functions and the objects they hold can name. Nothing found is kept but its
length, so nothing lives longer for it.
"""

from __future__ import annotations

import ast
import gc
import os
import sys
import threading
from collections import deque
from itertools import islice
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from .operands import is_array, is_tensor, parsed
from .origin import absolute, is_users, names_in
from .recorder import Recorder
from .standing import frames_of

FIRST = 32 << 20  # bytes of growth at which containers are first looked at; then at each 1.5 times as much
MOST_LOOKS = 12
LONG = 16  # elements from which on a container is measured rather than walked through
MOST_OBJECTS = 20_000
DEEPEST = 5
MOST_NODES = 60  # of a graph, whose saved activations are counted
SAMPLED = 8  # elements measured of a container
MOST_CHAIN, MOST_SAVED = 20_000, 400  # nodes of one tensor's graph that are counted, and those whose saved activations are
PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


class Held(NamedTuple):
    """A container as it was at one look."""

    count: int
    bytes: int
    graph: int  # bytes that its elements keep alive through the graphs that they came from
    kind: str


class Growth:
    """`look()` now and then from the sampler's thread; `tell()` what was found."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.first: int | None = None
        self.last = self.most = 0
        self.start_step = self.looks = 0
        self.next_look = FIRST
        self.seen: dict[tuple[str, int], list[tuple[int, Held]]] = {}  # (name, id) -> (step, what it held); of a tensor the id of who holds it
        self.names: dict[tuple[str, int], str] = {}  # what the person calls it
        self.lines: dict[str, tuple[str, int | None]] = {}  # where each grows, as far as it was found
        self.caches: dict[str, dict[str, Any]] = {}

    def look(self, cpu: float) -> None:
        """Read the memory; look for holders where it has grown."""
        now, step = resident(), self.recorder.step or 0
        if now is None:
            return
        self.most = max(self.most, now)
        if self.first is None:
            if step >= 2 or (cpu > 3 and not step):
                self.first, self.start_step = now, step
            return
        self.last = now
        if now - self.first >= self.next_look and self.looks < MOST_LOOKS:
            self.next_look = int((now - self.first) * 1.5)
            self.census(step)

    def census(self, step: int) -> None:
        """Measure every container that the program can name."""
        self.looks += 1
        for name, owner, holder in _reachable():
            key = (name.split(".")[-1], holder) if is_tensor(owner) else (name, id(owner))
            if type(owner).__name__ == "_lru_cache_wrapper":
                self._cache(name, owner)
            elif len(self.seen) < 400 or key in self.seen:
                history = self.seen.setdefault(key, [])
                self.names[key] = max(self.names.get(key, ""), name, key=len)
                if history and history[-1][0] == step:  # asked twice within a step: one look
                    history.pop()
                history.append((step, _measure(owner, not self.recorder.shared.get("saved_hooks"))))

    def _cache(self, name: str, cached: Any) -> None:
        info, code = cached.cache_info(), getattr(cached.__wrapped__, "__code__", None)
        if code is None or not is_users(code.co_filename) or not info.misses:
            return
        held = cached_things(cached, info.maxsize is None)
        few = held[:: len(held) // 64 | 1]  # keys and results take turns: no even stride
        each = 2 * sum(size_of(x) for x in few) / max(1, len(few))
        self.caches[name] = {"name": name, "hits": info.hits, "misses": info.misses, "size": info.currsize, "most": info.maxsize,
                             "bytes": int(each * info.currsize), "file": absolute(code), "line": code.co_firstlineno}  # fmt: skip

    def tell(self) -> None:
        """Record the memory and its holders so far."""
        if self.first is None:
            return
        holders = []
        self.look(0.0)
        if self.looks:
            self.census(self.recorder.step or 0)
        for key, history in list(self.seen.items()):
            if not history:
                continue
            name = self.names[key]
            (step, before), (until, after) = history[0], history[-1]
            if after.count > before.count and len(history) >= 2 and _steady(history):
                where = grown_at(name, after.kind == "tensor")
                where = self.lines[name] = where if where[1] else self.lines.get(name, where)  # at the very end the program's modules are gone
                holders.append({
                    "name": name, "kind": after.kind, "from": before.count, "to": after.count, "bytes": after.bytes - before.bytes,
                    "graph": after.graph, "steps": until - step, "file": where[0], "line": where[1],
                })  # fmt: skip
        holders.sort(key=lambda h: (-h["graph"], -h["bytes"]))
        value = {
            "start": self.first, "end": self.last, "most": self.most, "steps": (self.recorder.step or 0) - self.start_step,
            "limit": memory_limit(), "holders": holders[:6], "caches": sorted(self.caches.values(), key=lambda c: -c["bytes"])[:4],
        }  # fmt: skip
        self.recorder.fact("memory_held", value, file="", line=None)


def _steady(history: list[tuple[int, Held]]) -> bool:
    """Longer at each look than at the one before, but for the last (which may come at once)."""
    counts = [h.count for _, h in history]
    return all(b > a for a, b in zip(counts, counts[1:-1])) and counts[-1] >= counts[-2]


def _reachable() -> list[tuple[str, Any, int]]:
    """(name as the person would write it; container, cache or tensor with a graph; id of who holds it) for what modules, running functions and
    their objects hold."""
    found: list[tuple[str, Any, int]] = []
    met: set[int] = set()
    queue: deque[tuple[str, Any, int, int]] = deque()
    for names in _roots():
        queue.extend((k, v, 0, 0) for k, v in names.items() if not k.startswith("__"))
    while queue and len(met) < MOST_OBJECTS:
        name, value, depth, holder = queue.popleft()
        if id(value) in met or isinstance(value, (str, bytes, int, float, complex, bool, type(None), ModuleType)) or is_array(value):
            continue
        met.add(id(value))
        if type(value).__name__ == "_lru_cache_wrapper" or (isinstance(value, (list, dict, set, deque)) and len(value) >= LONG):
            found.append((name, value, holder))
        elif is_tensor(value):
            if value.grad_fn is not None and value.numel() < LONG:  # a running value, and not a layer's output
                found.append((name, value, holder))
        elif depth < DEEPEST:
            queue.extend((n, v, depth + 1, id(value)) for n, v in _children(name, value))
    return found


def _roots() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for frame in frames_of(threading.main_thread().ident or 0):
        if is_users(frame.f_code.co_filename):
            found.append(names_in(frame))
    found += [dict(vars(m)) for m in list(sys.modules.values()) if is_users(getattr(m, "__file__", None) or "<>")]
    return found


def _children(name: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [(f"{name}[{k!r}]", v) for k, v in list(value.items()) if isinstance(k, (str, int))]
    if isinstance(value, (list, tuple, set, deque)):
        return [(f"{name}[{i}]", v) for i, v in enumerate(list(value))] if len(value) < LONG else []
    if isinstance(value, FunctionType):
        return _cells(value) if is_users(value.__code__.co_filename) else []
    if isinstance(value, type):
        return [(f"{name}.{k}", v) for k, v in dict(vars(value)).items() if not k.startswith("__")] if _own(value) else []
    try:
        held = object.__getattribute__(value, "__dict__")
    except (AttributeError, TypeError):
        return []
    if not isinstance(held, dict) or is_tensor(value):
        return []
    return [(f"{name}.{k}", v) for k, v in list(held.items()) if isinstance(k, str) and len(held) < 200]


def _cells(function: FunctionType) -> list[tuple[str, Any]]:
    found = []
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            found.append((name, cell.cell_contents))
        except ValueError:  # not yet assigned
            continue
    return found


def _own(kind: type) -> bool:
    module = sys.modules.get(kind.__module__)
    return is_users(getattr(module, "__file__", None) or "<>")


def _measure(value: Any, graphs: bool) -> Held:
    """`graphs`: may saved activations be asked for? Not where hooks would run to give them (checkpointing computes them anew)."""
    if is_tensor(value):
        return _chain(value, graphs)
    elements = list(value.values()) if isinstance(value, dict) else list(value)
    few = [elements[i * (len(elements) - 1) // max(1, SAMPLED - 1)] for i in range(min(SAMPLED, len(elements)))] if elements else []
    each = sum(size_of(x) for x in few) / max(1, len(few))
    kept = [_graph_bytes(x) for x in few] if graphs else [0]
    graph = int(sum(kept) / len(kept) * len(elements)) if few and all(kept) else 0
    return Held(len(elements), int(each * len(elements)), graph, type(value).__name__)


def _chain(value: Any, graphs: bool) -> Held:
    """One tensor by the operations of its graph, and the bytes that these keep (those of the first few hundred, taken for the rest)."""
    met, queue, saved = {value.grad_fn}, deque([value.grad_fn]), 0
    for count in range(MOST_CHAIN):
        if not queue:
            break
        node = queue.popleft()
        saved += _saved(node)[0] if graphs and count < MOST_SAVED else 0
        fresh = [n for n, _ in node.next_functions if n is not None and n not in met]
        met.update(fresh)
        queue.extend(fresh)
    return Held(len(met), size_of(value), int(saved * max(1.0, len(met) / MOST_SAVED)), "tensor")


def _saved(node: Any) -> tuple[int, bool]:
    """Bytes of activations that a node of a graph keeps, and whether a backward pass has freed them."""
    total = 0
    for name in (n for n in dir(node) if n.startswith("_saved_")):
        try:
            saved = getattr(node, name)
        except RuntimeError as error:
            if "freed" in str(error):
                return 0, True
            continue  # weights that an optimizer has changed since: no activation
        if is_tensor(saved) and not (saved.is_leaf and saved.requires_grad):
            total += int(saved.numel()) * int(saved.element_size())
    return total, False


def _graph_bytes(value: Any) -> int:
    """Bytes of activations that an element keeps alive through the graph it came from; 0 where that was freed by its backward pass."""
    if isinstance(value, (tuple, list)) and value and len(value) < LONG:
        return max(_graph_bytes(x) for x in value)
    if isinstance(value, dict) and value and len(value) < LONG:
        return max(_graph_bytes(x) for x in value.values())
    node = getattr(value, "grad_fn", None) if is_tensor(value) else None
    met, queue, total = set(), deque([node] if node is not None else []), 0
    while queue and len(met) < MOST_NODES:
        node = queue.popleft()
        if node is None or node in met:
            continue
        met.add(node)
        kept, freed = _saved(node)
        if freed:  # a backward pass went through
            return 0
        total += kept
        queue.extend(n for n, _ in node.next_functions)
    return total


def size_of(value: Any, depth: int = 0) -> int:
    """Bytes that a value holds, roughly; nothing of the person's is called."""
    if is_array(value):
        return int(value.nbytes)
    if is_tensor(value):
        return int(value.numel()) * int(value.element_size())
    if isinstance(value, (list, tuple, set, frozenset, deque)) and depth < 3:
        few = list(value)[:SAMPLED]
        return sys.getsizeof(value) + int(sum(size_of(x, depth + 1) for x in few) * len(value) / max(1, len(few)))
    if isinstance(value, dict) and depth < 3:
        few = list(value.values())[:SAMPLED]
        return sys.getsizeof(value) + int(sum(size_of(x, depth + 1) for x in few) * len(value) / max(1, len(few)))
    return sys.getsizeof(value) if isinstance(value, (str, bytes, bytearray, int, float)) else 64


def grown_at(name: str, value: bool = False) -> tuple[str, int | None]:
    """The person's one line that adds to a container (or a running value) of that name; ("", None) where there is none or more than one."""
    last, _, key = name.split(".")[-1].partition("[")
    found = []
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        tree = parsed(file) if file and is_users(file) else None
        for node in ast.walk(tree) if tree is not None else ():
            target = None
            if value:
                target = _added_to(node, last)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("append", "add", "extend", "insert", "update"):
                target = node.func.value
            elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                target = node.value
            if key and isinstance(target, ast.Subscript):  # an entry of a dictionary or list of containers
                told = repr(target.slice.value) if isinstance(target.slice, ast.Constant) else None
                target = target.value if told is None or told == key.rstrip("]") else None
            if (isinstance(target, ast.Name) and target.id == last) or (isinstance(target, ast.Attribute) and target.attr == last):
                found.append((os.path.abspath(str(file)), node.lineno))
    return found[0] if len(set(found)) == 1 else ("", None)


def _added_to(node: ast.AST, last: str) -> ast.AST | None:
    """The target of an assignment that makes a value of that name anew from what it was."""
    if isinstance(node, ast.AugAssign):
        return node.target
    if isinstance(node, ast.Assign):
        for target in (t for whole in node.targets for t in (whole.elts if isinstance(whole, ast.Tuple) else [whole])):
            if last == getattr(target, "attr", getattr(target, "id", None)):
                used = {getattr(n, "attr", getattr(n, "id", None)) for n in ast.walk(node.value)}
                return target if last in used else None
    return None


def resident() -> int | None:
    """Bytes of this process in memory."""
    try:
        with open("/proc/self/statm", "rb") as f:
            return int(f.read().split()[1]) * PAGE
    except OSError:
        return None


def memory_limit() -> int | None:
    """What this process may use: the control group's limit, else the machine's memory."""
    found = []
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(path) as f:
                text = f.read().strip()
            if text.isdigit() and int(text) < 1 << 60:
                found.append(int(text))
        except OSError:
            pass
    try:
        found.append(os.sysconf("SC_PHYS_PAGES") * PAGE)
    except (ValueError, OSError):
        pass
    return min(found) if found else None


def cached_things(cached: Any, endless: bool) -> list[Any]:
    """Keys and results of an lru_cache in turn. It refers to both and the type of each link; one without a limit keeps them in a dictionary."""
    known = gc.get_referents(cached)
    if endless:
        store = max((x for x in known if type(x) is dict and x is not vars(cached)), key=len, default={})
        return [x for pair in list(islice(store.items(), 100_000)) for x in pair]  # at once: the program may write into it
    return [x for x in known if type(x) not in (dict, type) and x is not cached.__wrapped__]
