"""Mails judged in a worker's thread, which learns from what was reported now and then."""

import queue
import threading

import numpy as np
import torch
from torch import nn

torch.manual_seed(3)
rng = np.random.default_rng(0)
rule = rng.normal(size=12)


def mails(n):
    x = rng.normal(size=(n, 12)).astype("float32")
    return torch.tensor(x), torch.tensor((x @ rule > 0).astype("float32"))


net = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Dropout(0.6), nn.Linear(64, 1))
optimizer = torch.optim.AdamW(net.parameters(), 3e-3)


def learn(x, y, steps):
    net.train()
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(net(x)[:, 0], y).backward()
        optimizer.step()
    net.eval()


def work():
    while (job := jobs.get()) is not None:
        if len(job) == 1:
            with torch.no_grad():
                answers.put(float(torch.sigmoid(net(job[0][None]))) > 0.5)
        else:
            answers.put(learn(*job, 5))


jobs, answers = queue.Queue(), queue.Queue()
learn(*mails(400), 60)
net.eval()
worker = threading.Thread(target=work)
worker.start()
x, y = mails(300)
right = 0
for i in range(300):
    jobs.put((x[i],))
    right += answers.get() == bool(y[i])
    if i % 100 == 99:
        jobs.put((x[i - 99 : i + 1], y[i - 99 : i + 1]))
        answers.get()
jobs.put(None)
worker.join()
print(f"right {right / 300:.3f}")
