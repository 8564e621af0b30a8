"""Layers in plain lists and dictionaries are found by their path, and what a model holds as its own is not."""

from __future__ import annotations

import torch
from torch import nn

from sabueso.adapters.torch.outside import outside


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.own = nn.Linear(2, 2)
        self.blocks = [nn.Linear(2, 3), nn.Linear(3, 2)]
        self.heads = {"a": nn.Linear(2, 1)}
        self.scale = [nn.Parameter(torch.ones(2))]
        self.names = ["x", "y"]


def test_parts_of_plain_containers_are_told_by_path() -> None:
    net = Net()
    found = {path: part for path, part in outside(net).values()}
    assert set(found) == {"blocks.0.weight", "blocks.0.bias", "blocks.1.weight", "blocks.1.bias", "heads.a.weight", "heads.a.bias", "scale.0"}
    assert found["blocks.1.weight"] is net.blocks[1]


def test_module_lists_are_no_plain_containers() -> None:
    assert outside(nn.Sequential(nn.Linear(2, 2), nn.ModuleList([nn.Linear(2, 2)]))) == {}
