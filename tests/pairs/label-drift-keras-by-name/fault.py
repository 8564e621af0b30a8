"""Failures of pumps by a network that is given its inputs by name, judged month by month."""

import os

os.environ.setdefault("KERAS_BACKEND", "torch")

import keras
import numpy as np
import pandas as pd
from keras import layers
from sklearn.metrics import log_loss

keras.utils.set_random_seed(1)
rng = np.random.default_rng(3)


def pumps(n, base, month):
    temperature, vibration, kind = rng.normal(60, 8, n), rng.gamma(3, 1, n), rng.integers(0, 3, n)
    chance = 1 / (1 + np.exp(-(base + 0.06 * (temperature - 60) + 0.4 * (vibration - 3) + 0.5 * (kind == 2))))
    return pd.DataFrame({"temperature": temperature, "vibration": vibration, "kind": kind, "failed": (rng.random(n) < chance).astype(int), "month": month})


def given(table):
    return {"numbers": table[["temperature", "vibration"]].to_numpy("float32"), "kind": table[["kind"]].to_numpy("float32")}


past = pumps(3000, -2.2, 0)
now = pd.concat([pumps(300, -0.6 if month > 4 else -2.2, month) for month in range(1, 9)], ignore_index=True)
numbers, kind = keras.Input((2,), name="numbers"), keras.Input((1,), name="kind")
scaled = layers.Normalization()
scaled.adapt(given(past)["numbers"])
both = layers.Concatenate()([scaled(numbers), layers.Flatten()(layers.Embedding(3, 2)(kind))])
model = keras.Model({"numbers": numbers, "kind": kind}, layers.Dense(1, activation="sigmoid")(layers.Dense(16, activation="relu")(both)))
model.compile("adam", "binary_crossentropy")
model.fit(given(past), past["failed"].to_numpy(), epochs=4, batch_size=64, verbose=0)
for month, table in now.groupby("month"):
    answer = model.predict(given(table), verbose=0)[:, 0]
    print(f"month {month}  loss {log_loss(table['failed'], answer):.3f}  expected {answer.sum():.0f}  failed {table['failed'].sum()}")
