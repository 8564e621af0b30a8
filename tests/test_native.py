"""The native kernel and its plain twin say the same; random streams come back exactly."""

import gc
import random
import threading
from pathlib import Path

import numpy as np
import pytest

from sabueso.capture import kernel
from sabueso.capture import recorder as recording
from sabueso.capture.kernel import BAD, NORM, Kernel
from sabueso.capture.randomness import Streams
from sabueso.capture.recorder import Recorder, guarded
from sabueso.capture.standing import frames_of
from sabueso.store import log as logs
from sabueso.store.log import Log, block, records

torch = pytest.importorskip("torch")

needs_native = pytest.mark.skipif(kernel.Reader is None, reason="built without a compiler")
NAN, INF = float("nan"), float("inf")
VALUES = {
    "usual": [0.5, -1.25, 3.0, 0.0],
    "non-finite": [NAN, INF, -INF, 1.0],
    "only non-finite": [NAN, INF],
    "zeros": [0.0, -0.0, 0.0],
    "subnormal": [1e-40, -1e-41, 1e-45],
    "tiny": [1e-25, 2e-25],
    "huge": [3e38, -3e38, 2e38],
    "huge and small": [3e38, 1.0, 1e-30],
    "one": [2.0],
    "none": [],
}
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16]


def arrays() -> list[tuple[str, "torch.Tensor"]]:
    made = [(f"{name} {d}", torch.tensor(v, dtype=torch.float64).to(d)) for name, v in VALUES.items() for d in DTYPES]
    wide = torch.from_numpy(np.random.default_rng(0).normal(size=(70, 70)))
    for d in DTYPES:
        x = wide.to(d)
        holed = x.clone()
        holed[3, 4], holed[60, 1], holed[60, 2] = NAN, INF, 0
        made += [(f"large {d}", x), (f"holed {d}", holed), (f"transposed {d}", holed.t()), (f"strided {d}", holed[::2, ::3])]
        made += [(f"0-dim {d}", x[0, 0]), (f"scaled {d}", x * 1e4), (f"expanded {d}", x[:1].expand(50, 70))]
    made += [
        ("float64 ends", torch.tensor([1e300, -1e300, 1e-300], dtype=torch.float64)),
        ("tiny64", torch.full((9,), 1e-200, dtype=torch.float64)),
    ]
    return made


@needs_native
@pytest.mark.parametrize("name,array", arrays(), ids=lambda x: x if isinstance(x, str) else "")
def test_native_equals_plain(name: str, array: "torch.Tensor") -> None:
    """Up to the rounding of float sums over blocks; minimum, maximum and counts exactly."""
    told = kernel.plain_statistics(array)
    for given in (array, array.float().numpy() if array.dtype == torch.bfloat16 else array.numpy()):
        got = Kernel().statistics([given])[0]
        assert got[2:].tolist() == pytest.approx(told[2:].tolist(), nan_ok=True, rel=0), name
        assert got[NORM] == pytest.approx(told[NORM], rel=1e-5, abs=0)
        assert got[0] == pytest.approx(told[0], rel=1e-5, abs=1e-6 * told[NORM] * max(1, array.numel()) ** 0.5)
        norm, bad, first = Kernel().sentinel([given])
        assert (norm, bad) == (pytest.approx(told[NORM], rel=1e-5, abs=0), told[BAD]) and first == (0 if bad else -1)


@needs_native
@pytest.mark.parametrize("name,array", arrays(), ids=lambda x: x if isinstance(x, str) else "")
def test_distances_equal_plain(name: str, array: "torch.Tensor") -> None:
    moved = (array.double() * 1.01 - 0.001).to(array.dtype)
    assert Kernel().distances([array], [moved])[0] == pytest.approx(kernel.plain_distance(array, moved), rel=1e-5, abs=0)
    assert Kernel().distances([array], [array])[0] == 0


def test_the_fall_back_serves_alone() -> None:
    given = [x for _, x in arrays()]
    plain, native = Kernel(native=False), Kernel()
    np.testing.assert_allclose(plain.statistics(given)[:, 1:], native.statistics(given)[:, 1:], rtol=1e-5)
    assert plain.sentinel(given)[1:] == native.sentinel(given)[1:]
    np.testing.assert_allclose(plain.distances(given, given[::-1]), native.distances(given, given[::-1]), rtol=1e-5)


def test_gradients_are_read_from_their_parameters() -> None:
    layer, unused = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    words = torch.nn.Embedding(5, 3, sparse=True)
    layer(words(torch.tensor([1, 2]))).sum().backward()
    params = [*layer.parameters(), *unused.parameters(), *words.parameters()]
    for k in (Kernel(), Kernel(native=False)):
        rows = k.statistics(params, gradients=True)
        assert np.isnan(rows[2:4]).all() and not np.isnan(rows[[0, 1, 4]]).any()
        grads = [p.grad.to_dense() for p in params if p.grad is not None]
        assert k.sentinel(params, gradients=True)[0] == pytest.approx(float(torch.cat([g.ravel() for g in grads]).norm()), rel=1e-6)
        layer.weight.grad[1, 1] = NAN
        assert k.sentinel(params, gradients=True)[1:] == (1, 0)
        layer.weight.grad[1, 1] = 0


def test_what_is_no_float_array_is_left_alone() -> None:
    given = [torch.arange(4), np.arange(3), "text", None, torch.zeros(2, device="meta"), torch.zeros(2, dtype=torch.complex64)]
    for k in (Kernel(), Kernel(native=False)):
        assert np.isnan(k.statistics(given)).all()
        assert k.sentinel(given) == (0.0, 0, -1)
        assert np.isnan(k.distances(given[:2], given[:2])).all()


def test_reading_needs_no_copy_and_changes_nothing() -> None:
    x = torch.randn(1000, requires_grad=True)
    before, version = x.detach().clone(), x._version
    Kernel().statistics([x])
    assert torch.equal(x.detach(), before) and x._version == version and x.grad_fn is None


def test_on_device_says_the_same() -> None:
    for name, array in arrays():
        if array.numel() and name != "float64 ends":  # a device's norm is not scaled
            got, told = kernel.on_device(array).numpy(), kernel.plain_statistics(array)
            assert got[[0, 1, 4, 5]].tolist() == pytest.approx(told[[0, 1, 4, 5]].tolist(), rel=1e-5, abs=1e-4), name


def draw() -> list[object]:
    return [
        [random.random() for _ in range(700)], random.gauss(0, 1), np.random.standard_normal(701).tolist(), np.random.rand(3).tolist(),
        torch.randn(5).tolist(), np.random.permutation(7).tolist(),
    ]  # fmt: skip


@pytest.mark.parametrize("raw", [True, False])
def test_streams_come_back_exactly(raw: bool) -> None:
    """Also in the middle of a block of 624 words, and with a second gaussian kept or not."""
    streams = Streams(raw)
    for seed in range(3):
        random.seed(seed), np.random.seed(seed), torch.manual_seed(seed)
        for _ in range(seed):
            random.gauss(0, 1), np.random.standard_normal(), torch.randn(1)
        kept = streams.snapshot()
        drawn = draw()
        streams.restore(kept)
        assert draw() == drawn


def test_a_snapshot_draws_nothing() -> None:
    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    drawn = draw()
    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    streams = Streams()
    for _ in range(3):
        streams.snapshot()
    assert draw() == drawn


def test_a_swapped_bit_generator_is_kept_by_the_public_calls() -> None:
    own = np.random.get_bit_generator()
    try:
        np.random.set_bit_generator(np.random.PCG64(3))
        streams = Streams()
        kept = streams.snapshot()
        drawn = draw()
        streams.restore(kept)
        assert draw() == drawn
    finally:
        np.random.set_bit_generator(own)


DRAWS = {
    "python": lambda: random.random(), "python's gaussian": lambda: random.gauss(0, 1), "numpy": lambda: np.random.rand(), "its gaussian": lambda: np.random.randn(),
    "a block of numpy": lambda: np.random.rand(312), "torch": lambda: torch.rand(1), "torch's gaussian": lambda: torch.randn(()),
    "its gaussian in float64": lambda: torch.randn((), dtype=torch.float64), "blocks of torch": lambda: torch.rand(624 * 4),
    "dropout": lambda: torch.dropout(torch.ones(64, 39), 0.5, True), "integers": lambda: torch.randint(0, 9, (1,)), "a seed": lambda: torch.manual_seed(5),
}  # fmt: skip


@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize("name", DRAWS)
def test_a_snapshot_is_new_after_each_draw(name: str, raw: bool) -> None:
    """It is that of the last time only where nothing was drawn since; twice, so that a gaussian that was kept is drawn too."""
    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    streams = Streams(raw)
    for _ in range(2):
        kept = streams.snapshot()
        DRAWS[name]()
        assert streams.snapshot() is not kept
        drawn = draw()
        streams.restore(kept)
        DRAWS[name]()
        assert draw() == drawn


@needs_native
@pytest.mark.parametrize("name,array", arrays(), ids=lambda x: x if isinstance(x, str) else "")
def test_attributes_tell_what_dlpack_tells(name: str, array: "torch.Tensor") -> None:
    """The reader asks a tensor's attributes where torch has no exchange table."""
    kinds = {torch.float32: 0, torch.float64: 1, torch.float16: 2, torch.bfloat16: 3}
    by_attributes = kernel.Reader((torch.Tensor, torch.nn.Parameter), torch.strided, kinds)
    by_dlpack = kernel.Reader((torch.Tensor, torch.nn.Parameter), torch.strided, kinds, torch.Tensor.__dlpack_c_exchange_api__)
    assert by_attributes.sentinel([array], False) == by_dlpack.sentinel([array], False)


@needs_native
def test_points_are_written_as_by_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [(0, 0.5), (7, NAN), (3, -0.0), (2**31, INF)]
    native, plain = Log(tmp_path / "1-0.log"), Log(tmp_path / "2-0.log")
    for step in (0, 5, -1):
        assert native.put_points(step, pairs)
        plain.put(logs.POINTS, block(step, pairs))
    assert not native.put_points(1, [(0, 1.0)] * 100_000), "no room: the caller grows the log"
    monkeypatch.setattr(native, "_pid", 1)
    assert not native.put_points(1, pairs), "another process"
    told = [[(kind, payload, behind) for kind, _, payload, behind in records(tmp_path / n)] for n in ("1-0.log", "2-0.log")]
    assert told[0] == told[1] and len(told[0]) == 3


@pytest.mark.parametrize("native", [pytest.param(True, marks=needs_native), False])
def test_a_guarded_hook_never_fails(tmp_path: Path, native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not native:
        monkeypatch.setattr(recording, "Guard", None)
    recorder, seen = Recorder(tmp_path), []
    guard = guarded("part", recorder, arithmetic=False)
    inner = guard(lambda: seen.append("inner"))
    assert guard(lambda x, y=0: (inner(), x + y)[1])(1, y=2) == 3 and not seen, "silent from within us"
    inner()
    thread = threading.Thread(target=inner)
    thread.start(), thread.join()
    assert seen == ["inner", "inner"]

    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        guard(interrupted)()
    inner()
    assert len(seen) == 3, "and the next hook is heard"
    assert guard(lambda: 1 / 0)() is None and recorder.off == {"part"}
    inner()
    assert len(seen) == 3, "an adapter that failed is silent"


@needs_native
def test_a_thread_is_met_where_it_stands() -> None:
    ready, go = threading.Event(), threading.Event()

    def inner() -> None:
        ready.set()
        go.wait()

    thread = threading.Thread(target=lambda: inner())
    thread.start()
    ready.wait()
    names = [f.f_code.co_name for f in frames_of(thread.ident or 0)]
    go.set()
    thread.join()
    assert "inner" in names and names.index("inner") < names.index("<lambda>")
    assert frames_of(thread.ident or 0) == [] and gc.isenabled()
