import numpy as np
from sklearn.ensemble import ExtraTreesRegressor

rng = np.random.default_rng(7)
hour = np.arange(4000)
sun = np.clip(np.sin(2 * np.pi * (hour - 6) / 24), 0, None) * (
    1 - 0.8 * np.clip(np.convolve(rng.normal(0, 0.5, 4060), np.hanning(30) / 4, "same")[:4000], 0, 1)
)
air = 10 + 6 * np.sin(2 * np.pi * (hour - 9) / 24) + np.convolve(rng.normal(0, 0.3, 4060), np.hanning(40), "same")[:4000]
energy = sun * (1.1 - 0.01 * air) + 0.005 * rng.normal(size=4000)
x = np.column_stack([sun, air])
keep = hour // 100 % 4 > 0
model = ExtraTreesRegressor(30, random_state=0).fit(x[keep], energy[keep])
print(model.score(x[~keep], energy[~keep]))
