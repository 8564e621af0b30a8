"""PyTorch: steps, losses, modules, gradients, data.

The parts are the modules of this folder that have an `install(watch)`; they share one Watch (see watch.py for its moments and state). In
an ordinary step only the optimizers' global hooks, `torch.autograd.backward` and the loader's `__next__` are touched; module hooks and the
function mode are in during sampled steps and the first calls of an evaluation (arming.py).
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable

from ...capture.recorder import Recorder
from .watch import Watch

LIBRARIES = ("torch",)
PROVIDES = (
    "train_loss", "learning_rate", "gradient_norm", "optimizer_use", "model", "model_input", "parameters", "zeroed", "cleared_at", "clipping", "mode",
    "evaluation", "future_seen", "loss_call", "broadcast", "softmax_dim", "graph_cut", "scheduler", "weights_loaded", "weights_missed", "rebuilt",
    "activation", "gradient_nonfinite", "gradient_zeros", "initial_weights", "linear_chain", "norm_rows", "output_mean", "output_nonfinite",
    "output_std", "units_alike", "units_constant", "units_dead", "units_saturated", "update_ratio", "weight_gradient", "weight_norm",
    "learnable", "few_rows", "recurrence", "evaluation_error", "experiment", "loss_spike", "targets", "weights_kept",
    "batch_metric", "batch_mixing", "device_asked", "held_out", "host_reads", "input_layout", "input_scale", "inputs", "label_order", "loader_use",
    "nonfinite_found", "nonfinite_step", "padding", "rank", "rank_batches", "rank_end", "rank_epoch", "rank_weights", "row_use", "sample_seed",
    "sampler_epochs", "gradients_underflown", "half_precision", "picture_layout", "updates_lost",
    "threads_set", "torch_seed", "torch_settings", "copy_unwritten", "rate_restored", "tokens_shifted", "worker_random", "window", "groups_shared", "tell",
)  # fmt: skip


def install(recorder: Recorder) -> Callable[[], None]:
    """Put the parts' hooks in; returns the undo."""
    watch = Watch(recorder)
    for name in parts():
        try:
            part = importlib.import_module(f"{__name__}.{name}")
            if hasattr(part, "install"):
                part.install(watch)
        except Exception as error:  # one part that cannot be put in leaves the others at work
            recorder.own_error(f"torch.{name}", error)
    return watch.undo


FIRST = ("modules", "arming", "steps")  # the others build on these


def parts() -> list[str]:
    """The modules of this folder: those that others build on, then sorted."""
    found = {e.name.removesuffix(".py") for e in os.scandir(os.path.dirname(__file__)) if e.name.endswith(".py") and e.name[0] != "_"}
    return [*FIRST, *sorted(found.difference(FIRST))]
