"""Reads handwritten digits. It runs to its end and raises nothing, yet it reads hardly better than by chance."""

import argparse

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Reader(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(64, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.head = nn.Linear(hidden, 10)

    def forward(self, x):
        return self.head(self.trunk(x))


def load(batch):
    digits = load_digits()
    x, x_test, y, y_test = train_test_split(digits.data, digits.target, test_size=0.25, random_state=0, stratify=digits.target)
    scaler = StandardScaler().fit(x)
    sides = ((x, y), (x_test, y_test))
    known, unseen = (TensorDataset(torch.tensor(scaler.transform(a), dtype=torch.float32), torch.tensor(b)) for a, b in sides)
    return DataLoader(known, batch, shuffle=True, generator=torch.Generator().manual_seed(1)), DataLoader(unseen, 256)


def train(model, batches, epochs, lr):
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for epoch in range(epochs):
        model.train()
        losses = []
        for x, y in batches:
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch + 1}  loss {np.mean(losses):.3f}")


def evaluate(model, batches):
    model.eval()
    with torch.no_grad():
        right = [(model(x).argmax(1) == y).float() for x, y in batches]
    return torch.cat(right).mean().item()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--lr", type=float, default=0.1)
    options = parser.parse_args()
    np.random.seed(0)
    torch.manual_seed(0)
    train_batches, test_batches = load(batch=32)
    model = Reader(hidden=64)
    train(model, train_batches, options.epochs, options.lr)
    print(f"accuracy {evaluate(model, test_batches):.2f}")
