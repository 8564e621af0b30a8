"""Turn: one step of a framework's own loop, called again in place of a frame's statements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Any

from ..capture.origin import is_users

LIGHTNING = ("lightning", "pytorch_lightning")
TRAINER = "transformers.trainer"


class Lightning:
    """A LightningModule's training_step; what it logs is logged once."""

    def __init__(self, module: Any, batch: Any, number: int) -> None:
        self.module, self.batch, self.number = module, batch, number

    def run(self, torch: Any) -> Any:
        module, held = self.module, self.module.__dict__
        own = {k: held[k] for k in ("log", "log_dict") if k in held}
        held["log"] = held["log_dict"] = lambda *a, **k: None
        try:
            given = (self.batch, self.number) if module.training_step.__code__.co_argcount > 2 else (self.batch,)
            result = module.training_step(*given)
        finally:
            for name in ("log", "log_dict"):
                held.pop(name)
            held.update(own)
        return result.get("loss") if isinstance(result, dict) else result


class Trainer:
    """The Transformers Trainer's training_step up to the backward pass, from the frame that runs it."""

    def __init__(self, frame: FrameType, inputs: Any) -> None:
        self.names, self.inputs = frame.f_locals, inputs

    def run(self, torch: Any) -> Any:
        trainer, model, count = self.names["self"], self.names["model"], self.names.get("num_items_in_batch")
        with trainer.compute_loss_context_manager():
            loss = trainer.compute_loss(model, trainer._prepare_inputs(self.inputs), num_items_in_batch=count)
        loss = loss.mean() if trainer.args.n_gpu > 1 else loss
        done = getattr(trainer, "model_accepts_loss_kwargs", False) and count is not None or getattr(trainer, "compute_loss_func", None) is not None
        if not self.names.get("loss_is_scaled_for_ga", done):
            loss = loss / getattr(trainer, "current_gradient_accumulation_steps", trainer.args.gradient_accumulation_steps)
        scaler = getattr(trainer.accelerator, "scaler", None)
        return scaler.scale(loss) if scaler is not None else loss


def library_frames(frame: FrameType | None) -> Iterator[FrameType]:
    """The frames of a framework's loop round the step: from the one that called backward to the person's line that started it."""
    while frame is not None and not is_users(frame.f_code.co_filename):
        yield frame
        frame = frame.f_back


def turn_of(frame: FrameType, batch: Any, torch: Any) -> Lightning | Trainer | None:
    """The step that a framework's loop is in, where it is the framework that called backward."""
    if str(frame.f_globals.get("__name__", "")).startswith(LIGHTNING) and batch is not None:
        here: FrameType | None = frame
        number = next((n for f in library_frames(frame) if type(n := f.f_locals.get("batch_idx")) is int), 0)
        while here is not None:
            for value in list(here.f_locals.values()):
                if isinstance(value, torch.nn.Module) and hasattr(type(value), "training_step"):
                    return Lightning(value, batch, number) if getattr(value, "automatic_optimization", True) else None  # else it would take its steps twice
            here = here.f_back
    inside = next((f for f in library_frames(frame) if f.f_code.co_name == "training_step" and f.f_globals.get("__name__") == TRAINER), None)
    inputs = fed(inside) if inside is not None else None
    return Trainer(inside, inputs) if inside is not None and inputs is not None else None


def standing(frame: FrameType) -> FrameType:
    """Where the person stands: Lightning's manual_backward is called from their own training_step."""
    if not str(frame.f_globals.get("__name__", "")).startswith(LIGHTNING):
        return frame
    last = [frame, *library_frames(frame)][-1]
    return last.f_back if last.f_back is not None and last.f_code.co_name == "manual_backward" else frame


def fed(frame: FrameType | None) -> Any:
    """The batch that the Transformers Trainer's step was given: it fetches ahead, so the loader's last one is another."""
    while frame is not None:
        if frame.f_code.co_name == "training_step" or frame.f_globals.get("__name__") == TRAINER:
            inputs = frame.f_locals.get("inputs")
            if isinstance(inputs, Mapping):
                return inputs
        frame = frame.f_back
    return None
