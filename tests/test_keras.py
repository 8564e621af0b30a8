"""Programs of Keras on torch: what is said of them names the person's line, and the healthy ones are left alone."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from programs import marked, told, watched

pytestmark = [pytest.mark.heavy, pytest.mark.skipif(importlib.util.find_spec("keras") is None, reason="Keras is not installed")]

HEAD = """
import os
os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
from keras import layers
keras.utils.set_random_seed(3)
draw = np.random.default_rng(3)
"""
RINGS = """
x = draw.uniform(-1, 1, (500, 2)).astype("float32")
y = ((x**2).sum(1) < 0.55).astype("float32")
net = keras.Sequential([
    layers.Input((2,)),
    layers.Dense(24, activation="relu"),  # sabueso: no-activation
    layers.Dense(24, activation="relu"),
    layers.Dense(1, activation="sigmoid"),  # sabueso: loss-activation-mismatch
])
net.compile(optimizer=keras.optimizers.Adam(0.01), loss="binary_crossentropy", metrics=["accuracy"])  # sabueso: wrong-loss
net.fit(x, y[:, None], epochs=12, batch_size=25, verbose=0)
"""
WORDS = """
y = draw.integers(0, 2, 300)
rows = [[*draw.integers(3, 20, draw.integers(2, 6)), 1 + label] for label in y]
x = keras.utils.pad_sequences(rows, 50, padding="post")
given = keras.Input((50,))
words = layers.Embedding(20, 8, mask_zero=True)(given)  # sabueso: padding-unmasked
net = keras.Model(given, layers.Dense(1, activation="sigmoid")(layers.GRU(8)(words)))
net.compile(optimizer=keras.optimizers.Adam(0.02), loss="binary_crossentropy")
net.fit(x, y, epochs=4, batch_size=30, verbose=0)
"""
PRICES = """
x = draw.normal(size=(400, 3)).astype("float32")
y = x @ np.array([3.0, -1.0, 2.0]) + draw.normal(0, 0.1, 400)
net = keras.Sequential([layers.Input((3,)), layers.Dense(16, activation="relu"), layers.Dense(1)])
net.compile(optimizer=keras.optimizers.Adam(0.01), loss="mse", metrics=["mae"])  # sabueso: metric-inputs
stop = keras.callbacks.EarlyStopping(monitor="val_mae", mode="min", patience=3)
net.fit(x, y, validation_split=0.2, epochs=15, batch_size=20, verbose=0, callbacks=[stop])
"""
GROUPS = """
x = np.concatenate([draw.normal(c, 1, (80, 4)) for c in range(4)]).astype("float32")
y = keras.utils.to_categorical(np.repeat(range(4), 80))
p = draw.permutation(320)
x, y = x[p], y[p]
net = keras.Sequential([layers.Input((4,)), layers.Dense(16, activation="relu"), layers.Dense(4, activation="softmax")])
net.compile(optimizer=keras.optimizers.Adam(0.01), loss="categorical_crossentropy")
net.fit(x, y, validation_split=0.25, epochs=8, batch_size=20, verbose=0)  # sabueso: unshuffled-data
"""
FAULTS = {
    "no-activation": RINGS.replace('(24, activation="relu")', "(24)"),
    "loss-activation-mismatch": RINGS.replace('"sigmoid"', '"softmax"'),
    "wrong-loss": RINGS.replace('"binary_crossentropy"', '"categorical_crossentropy"'),
    "padding-unmasked": WORDS.replace(", mask_zero=True", ""),
    "metric-inputs": PRICES.replace('["mae"]', '["accuracy"]').replace('"val_mae", mode="min"', '"val_accuracy", mode="max"'),
    "unshuffled-data": GROUPS.replace("draw.permutation(320)", "np.arange(320)"),
}


@pytest.mark.parametrize("check", FAULTS)
def test_fault_is_the_only_culprit(check: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(HEAD + FAULTS[check])
    diagnosis = watched(tmp_path / "program.py")
    assert [(c["check"], c["place"]["line"]) for c in diagnosis["culprits"]] == [(check, marked(HEAD + FAULTS[check], check))], told(diagnosis)
    assert not diagnosis["own_errors"]


@pytest.mark.parametrize("program", [RINGS, WORDS, PRICES, GROUPS], ids=["rings", "words", "prices", "groups"])
def test_healthy_program_is_left_alone(program: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(HEAD + program)
    diagnosis = watched(tmp_path / "program.py")
    assert not diagnosis["culprits"], told(diagnosis)
    assert not diagnosis["own_errors"]
