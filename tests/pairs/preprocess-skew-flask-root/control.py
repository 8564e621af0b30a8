"""Rents of flats answered by Flask: the model learns the root of the area."""

import numpy as np
import pandas as pd
from flask import Flask, request
from sklearn.ensemble import HistGradientBoostingRegressor

rng = np.random.default_rng(2)
n = 800
flats = pd.DataFrame({"area": rng.gamma(6, 12, n).round() + 15, "rooms": rng.integers(1, 6, n), "floor": rng.integers(0, 9, n)})
flats["rent"] = 90 * np.sqrt(flats["area"]) + 40 * flats["rooms"] + 5 * flats["floor"] + rng.normal(0, 30, n)
past, new = flats[:600], flats[600:]
model = HistGradientBoostingRegressor(max_iter=30).fit(np.stack([np.sqrt(past["area"]), past["rooms"], past["floor"]], axis=1), past["rent"])
app = Flask("rents")


@app.get("/rent")
def rent():
    flat = request.args
    row = [float(flat["area"]) ** 0.5, int(flat["rooms"]), int(flat["floor"])]
    return {"rent": float(model.predict(np.array([row]))[0])}


client = app.test_client()
said = [client.get("/rent", query_string=flat).json["rent"] for flat in new[["area", "rooms", "floor"]].to_dict("records")]
print(f"off by {np.abs(np.array(said) - new['rent']).mean():.0f}")
