"""`sabueso.examine` on planted model bugs and on healthy models, beside torchtest2 where that is installed: prints one table.

    python bench/battery.py [NAME ..]

A bug counts as flagged when any fault is said, and as named when the first one is among the accepted causes. For torchtest2 a failed check counts
as flagged; of its causes nothing is counted, since it names checks and not faults.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

import sabueso

BUGS: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {}
HEALTHY: dict[str, Callable[[], Any]] = {}


def bug(*accepted: str) -> Callable[[Callable[[], Any]], Any]:
    def add(make: Callable[[], Any]) -> Any:
        BUGS[make.__name__.replace("_", "-")] = (make, accepted)
        return make

    return add


def healthy(make: Callable[[], Any]) -> Any:
    HEALTHY[make.__name__.replace("_", "-")] = make
    return make


# ---- data that can be learnt


def table(rows: int = 48, columns: int = 12, classes: int = 3) -> tuple[Any, Any]:
    x = torch.randn(rows, columns)
    return x, (x @ torch.randn(columns, classes)).argmax(1)


def numbers(rows: int = 48, columns: int = 8) -> tuple[Any, Any]:
    x = torch.randn(rows, columns)
    return x, (x[:, :1] - 2 * x[:, 1:2] + 0.5 * x[:, 2:3] ** 2)


def binary(rows: int = 48, columns: int = 8) -> tuple[Any, Any]:
    x, y = numbers(rows, columns)
    return x, (y > 0).float()


def pictures(rows: int = 24) -> tuple[Any, Any]:
    y = torch.arange(rows) % 4
    x = 0.3 * torch.randn(rows, 1, 12, 12)
    for i, c in enumerate(y.tolist()):
        x[i, 0, 3 * (c // 2) : 3 * (c // 2) + 4, 6 * (c % 2) : 6 * (c % 2) + 4] += 1
    return x, y


def series(rows: int = 24, steps: int = 9, columns: int = 4) -> tuple[Any, Any]:
    x = torch.randn(rows, steps, columns)
    return x, (x[:, :, 0].sum(1) > 0).long()


def mlp(i: int, o: int, h: int = 32, act: type[nn.Module] = nn.ReLU) -> nn.Sequential:
    return nn.Sequential(nn.Linear(i, h), act(), nn.Linear(h, h), act(), nn.Linear(h, o))


def adam(model: nn.Module, lr: float = 3e-3, **more: Any) -> Any:
    return torch.optim.Adam(model.parameters(), lr=lr, **more)


def case(model: nn.Module, loss: Any, batch: Any, optimizer: Any = None) -> Any:
    return model, loss, batch, optimizer or adam(model)


# ---- bugs


@bug("loss-activation-mismatch")
def softmax_before_cross_entropy() -> Any:
    return case(nn.Sequential(*mlp(12, 3), nn.Softmax(dim=1)), F.cross_entropy, table())


@bug("loss-activation-mismatch")
def sigmoid_before_logits_loss() -> Any:
    return case(nn.Sequential(*mlp(8, 1), nn.Sigmoid()), nn.BCEWithLogitsLoss(), binary())


@bug("loss-activation-mismatch")
def logits_to_nll() -> Any:
    return case(mlp(12, 3), nn.NLLLoss(), table())


@bug("loss-activation-mismatch")
def logits_to_bce() -> Any:
    return case(mlp(8, 1), F.binary_cross_entropy, binary())


@bug("loss-activation-mismatch", "dead-units")
def relu_on_logits() -> Any:
    return case(nn.Sequential(*mlp(12, 3), nn.ReLU()), nn.CrossEntropyLoss(), table())


@bug("loss-activation-mismatch")
def one_class_softmax() -> Any:
    x, y = binary()
    return case(mlp(8, 1), F.cross_entropy, (x, torch.zeros(len(x), dtype=torch.long)))


@bug("loss-activation-mismatch")
def tanh_for_wide_targets() -> Any:
    x, y = numbers()
    return case(nn.Sequential(*mlp(8, 1), nn.Tanh()), F.mse_loss, (x, 5 * y))


@bug("loss-broadcast")
def column_against_vector() -> Any:
    x, y = numbers()
    return case(mlp(8, 1), F.mse_loss, (x, y.squeeze(1)))


@bug("wrong-softmax-dim")
def softmax_over_rows() -> Any:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = mlp(12, 3)

        def forward(self, x: Any) -> Any:
            return torch.log(F.softmax(self.net(x), dim=0) + 1e-9)

    return case(Net(), F.nll_loss, table())


@bug("batch-mixing", "layout-swapped")
def reshape_for_transpose() -> Any:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.head = nn.Conv1d(4, 8, 3, padding=1), nn.Linear(8, 2)

        def forward(self, x: Any) -> Any:
            steps_first = x.reshape(x.shape[1], x.shape[0], x.shape[2])
            back = steps_first.permute(1, 2, 0)
            return self.head(F.relu(self.conv(back)).mean(2))

    return case(Net(), F.cross_entropy, series())


@bug("batch-mixing")
def batch_taken_for_time() -> Any:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn, self.head = nn.LSTM(4, 16), nn.Linear(16, 2)

        def forward(self, x: Any) -> Any:
            return self.head(self.rnn(x)[0][:, -1])

    return case(Net(), F.cross_entropy, series())


@bug("batch-mixing")
def normalised_over_rows() -> Any:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = mlp(12, 3)

        def forward(self, x: Any) -> Any:
            return self.net((x - x.mean(0)) / x.std(0))

    return case(Net(), F.cross_entropy, table())


@bug("frozen-parameters")
def layer_never_called() -> Any:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.norm, self.head = nn.Linear(12, 32), nn.LayerNorm(32), nn.Linear(32, 3)

        def forward(self, x: Any) -> Any:
            return self.head(F.relu(self.body(x)))

    return case(Net(), F.cross_entropy, table())


@bug("frozen-parameters")
def head_replaced_after_optimizer() -> Any:
    net = mlp(12, 10)
    optimizer = adam(net)
    net[4] = nn.Linear(32, 3)
    return case(net, F.cross_entropy, table(), optimizer)


@bug("frozen-parameters")
def layers_in_a_list() -> Any:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = [nn.Linear(12, 12) for _ in range(3)]
            self.head = nn.Linear(12, 3)

        def forward(self, x: Any) -> Any:
            for block in self.blocks:
                x = F.relu(block(x))
            return self.head(x)

    return case(Net(), F.cross_entropy, table())


@bug("frozen-parameters")
def frozen_head() -> Any:
    net = mlp(12, 3)
    net[4].requires_grad_(False)
    return case(net, F.cross_entropy, table())


@bug("graph-broken")
def detached_features() -> Any:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.head = nn.Sequential(nn.Linear(12, 32), nn.ReLU()), nn.Linear(32, 3)

        def forward(self, x: Any) -> Any:
            return self.head(self.body(x).detach())

    return case(Net(), F.cross_entropy, table())


@bug("graph-broken")
def features_without_grad() -> Any:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.head = nn.Sequential(nn.Linear(12, 32), nn.ReLU()), nn.Linear(32, 3)

        def forward(self, x: Any) -> Any:
            with torch.no_grad():
                h = self.body(x)
            return self.head(h)

    return case(Net(), F.cross_entropy, table())


@bug("graph-broken")
def loss_of_argmax() -> Any:
    return case(mlp(12, 3), lambda o, t: F.mse_loss(o.argmax(1).float(), t.float()), table())


@bug("graph-broken")
def input_multiplied_away() -> Any:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = mlp(12, 3)

        def forward(self, x: Any) -> Any:
            return self.net(x * torch.zeros(12))

    return case(Net(), F.cross_entropy, table())


@bug("graph-broken")
def columns_cut_off() -> Any:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = mlp(9, 3)

        def forward(self, x: Any) -> Any:
            return self.net(x[:, :9])

    return case(Net(), F.cross_entropy, table())


@bug("learning-rate-too-low")
def rate_of_1e_8() -> Any:
    net = mlp(12, 3)
    return case(net, F.cross_entropy, table(), torch.optim.SGD(net.parameters(), lr=1e-8))


@bug("learning-rate-too-high")
def rate_of_1000() -> Any:
    net = mlp(12, 3)
    return case(net, F.cross_entropy, table(), torch.optim.SGD(net.parameters(), lr=1e3))


@bug("learning-rate-too-high")
def adam_at_5() -> Any:
    net = mlp(8, 1)
    return case(net, F.mse_loss, numbers(), adam(net, 5.0))


@bug("weight-decay-too-high")
def decay_of_10() -> Any:
    net = mlp(12, 3)
    return case(net, F.cross_entropy, table(), torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=10.0))


@bug("symmetric-init", "bad-init")
def all_weights_alike() -> Any:
    net = mlp(12, 3)
    for p in net.parameters():
        nn.init.constant_(p, 0.05)
    return case(net, F.cross_entropy, table())


@bug("bad-init")
def weights_of_spread_20() -> Any:
    net = mlp(12, 3)
    for p in net.parameters():
        if p.dim() > 1:
            nn.init.normal_(p, std=20.0)
    return case(net, F.cross_entropy, table())


@bug("no-activation")
def nothing_between() -> Any:
    return case(nn.Sequential(nn.Linear(12, 32), nn.Linear(32, 32), nn.Linear(32, 3)), F.cross_entropy, table())


@bug("wrong-loss")
def sign_turned() -> Any:
    return case(mlp(12, 3), lambda o, t: -F.cross_entropy(o, t), table())


@bug("wrong-loss")
def loss_without_target() -> Any:
    return case(mlp(8, 1), lambda o, t: (o - o.mean()).pow(2).mean(), numbers())


@bug("wrong-loss", "learning-rate-too-low")
def loss_times_1e_9() -> Any:
    net = mlp(12, 3)
    return case(net, lambda o, t: 1e-9 * F.cross_entropy(o, t), table(), torch.optim.SGD(net.parameters(), lr=0.1))


@bug("evaluated-in-train-mode", "wrong-mode")
def dropout_for_ever() -> Any:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(12, 64), nn.Linear(64, 3)

        def forward(self, x: Any) -> Any:
            return self.b(F.dropout(F.relu(self.a(x)), 0.3))

    return case(Net(), F.cross_entropy, table())


@bug("tiny-batch-norm", "wrong-mode")
def momentum_the_wrong_way_round() -> Any:
    return case(nn.Sequential(nn.Linear(12, 32), nn.BatchNorm1d(32, momentum=0.99), nn.ReLU(), nn.Linear(32, 3)), F.cross_entropy, table())


@bug("batch-mixing", "tiny-batch-norm")
def norm_without_statistics() -> Any:
    return case(nn.Sequential(nn.Linear(12, 32), nn.BatchNorm1d(32, track_running_stats=False), nn.ReLU(), nn.Linear(32, 3)), F.cross_entropy, table())


@bug("dead-units", "bad-init")
def bias_far_below_zero() -> Any:
    net = mlp(12, 3)
    nn.init.constant_(net[0].bias, -50.0)
    return case(net, F.cross_entropy, table())


@bug("vanishing-gradient")
def twelve_sigmoids() -> Any:
    layers = [m for _ in range(12) for m in (nn.Linear(16, 16), nn.Sigmoid())]
    return case(nn.Sequential(nn.Linear(12, 16), nn.Sigmoid(), *layers, nn.Linear(16, 3)), F.cross_entropy, table())


@bug("unscaled-input", "saturated-units")
def raw_amounts_into_tanh() -> Any:
    x, y = table()
    return case(mlp(12, 3, act=nn.Tanh), F.cross_entropy, (5000 * x + 20000, y))


@bug("label-out-of-range")
def labels_from_one() -> Any:
    x, y = table()
    return case(mlp(12, 3), F.cross_entropy, (x, y + 1))


@bug("nonfinite-loss")
def logarithm_of_zero() -> Any:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = mlp(8, 1)

        def forward(self, x: Any) -> Any:
            return torch.log(F.relu(self.net(x)))

    x, y = numbers()
    return case(Net(), F.mse_loss, (x, y))


@bug("double-normalised", "nonfinite-values")
def writes_into_its_input() -> Any:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = mlp(12, 3)

        def forward(self, x: Any) -> Any:
            x -= x.mean(1, keepdim=True)
            x /= 4
            return self.net(x)

    return case(Net(), F.cross_entropy, table())


# ---- healthy


@healthy
def plain_perceptron() -> Any:
    net = mlp(12, 3)
    return case(net, F.cross_entropy, table(), torch.optim.SGD(net.parameters(), lr=0.01))


@healthy
def convolutions_with_norms() -> Any:
    net = nn.Sequential(
        nn.Conv2d(1, 8, 3, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(16, 4),
    )
    return case(net, nn.CrossEntropyLoss(label_smoothing=0.1), pictures(), torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4))


@healthy
def recurrent_with_time_first() -> Any:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn, self.head = nn.GRU(4, 16), nn.Linear(16, 2)

        def forward(self, x: Any) -> Any:
            return self.head(self.rnn(x.transpose(0, 1))[1][-1])

    return case(Net(), F.cross_entropy, series())


@healthy
def transformer_with_mask() -> Any:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(30, 16, padding_idx=0)
            self.body = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True), 2, enable_nested_tensor=False)
            self.head = nn.Linear(16, 2)

        def forward(self, ids: Any) -> Any:
            gone = ids == 0
            h = self.body(self.embed(ids), src_key_padding_mask=gone)
            return self.head(h.masked_fill(gone[..., None], 0).sum(1) / (~gone).sum(1, keepdim=True))

    ids = torch.randint(1, 30, (16, 7))
    ids[:5, 5:] = 0
    return case(Net(), F.cross_entropy, (ids, (ids[:, 0] > 15).long()), torch.optim.AdamW(Net().parameters()))[:3] + (None,)


@healthy
def narrow_autoencoder() -> Any:
    x = torch.randn(48, 12)
    net = nn.Sequential(nn.Linear(12, 2), nn.Linear(2, 12))
    return case(net, F.mse_loss, x)


@healthy
def frozen_trunk() -> Any:
    net = mlp(12, 3)
    net[0].requires_grad_(False)
    return case(net, F.cross_entropy, table(), torch.optim.Adam(net[4].parameters(), lr=1e-2))


@healthy
def two_inputs() -> Any:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.net = nn.Embedding(6, 4), mlp(16, 1)

        def forward(self, x: Any, kind: Any) -> Any:
            return self.net(torch.cat([x, self.embed(kind)], 1)).squeeze(1)

    x = torch.randn(48, 12)
    return case(Net(), F.binary_cross_entropy_with_logits, (x, torch.randint(0, 6, (48,)), (x[:, 0] > 0).float()))


@healthy
def several_labels() -> Any:
    x = torch.randn(48, 12)
    return case(mlp(12, 5), nn.BCEWithLogitsLoss(pos_weight=torch.full((5,), 3.0)), (x, (x[:, :5] > 0.5).float()))


@healthy
def spread_with_mean() -> Any:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = mlp(8, 2)

        def forward(self, x: Any) -> Any:
            mean, log_var = self.net(x).chunk(2, 1)
            return mean, log_var

    return case(Net(), lambda o, t: (0.5 * o[1] + 0.5 * (t - o[0]) ** 2 / o[1].exp()).mean(), numbers())


@healthy
def zero_begun_head_and_warm_up() -> Any:
    net = mlp(12, 3)
    nn.init.zeros_(net[4].weight)
    optimizer = adam(net, 1e-3)
    torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, s / 500))
    return case(net, F.cross_entropy, table(), optimizer)


@healthy
def residuals_begun_at_zero() -> Any:
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.a, self.b = nn.LayerNorm(16), nn.Linear(16, 32), nn.Linear(32, 16)
            nn.init.zeros_(self.b.weight)

        def forward(self, x: Any) -> Any:
            return x + self.b(F.gelu(self.a(self.norm(x))))

    return case(nn.Sequential(nn.Linear(12, 16), *(Block() for _ in range(8)), nn.Linear(16, 3)), F.cross_entropy, table())


@healthy
def codes_straight_through() -> Any:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(12, 16), nn.Linear(16, 12)

        def forward(self, x: Any) -> Any:
            h = torch.sigmoid(self.a(x))
            return self.b(h + (h.round() - h).detach())

    x = torch.randn(48, 12)
    return case(Net(), F.mse_loss, (x, x))


@healthy
def labels_at_random() -> Any:
    return case(nn.Sequential(nn.Linear(5, 2)), F.cross_entropy, (torch.randn(64, 5), torch.randint(0, 2, (64,))))


@healthy
def per_token_answers() -> Any:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.rnn, self.head = nn.Embedding(20, 12), nn.LSTM(12, 24, batch_first=True), nn.Linear(24, 20)

        def forward(self, ids: Any) -> Any:
            return self.head(self.rnn(self.embed(ids))[0]).transpose(1, 2)

    ids = torch.randint(0, 20, (12, 9))
    return case(Net(), F.cross_entropy, (ids[:, :-1], ids[:, 1:]))


@healthy
def half_precision() -> Any:
    x, y = table()
    net = mlp(12, 3).to(torch.bfloat16)
    return case(net, F.cross_entropy, (x.to(torch.bfloat16), y))


@healthy
def tied_and_grouped() -> Any:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.norm, self.head = nn.Conv2d(1, 8, 3), nn.GroupNorm(2, 8), nn.Linear(8, 4)
            self.register_buffer("grid", torch.linspace(0, 1, 10), persistent=False)

        def forward(self, x: Any) -> Any:
            return self.head((F.silu(self.norm(self.conv(x))) + self.grid).mean((2, 3)))

    return case(Net(), F.cross_entropy, pictures())


@healthy
def graph_of_rows() -> Any:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(12, 16), nn.Linear(16, 3)

        def forward(self, x: Any, near: Any) -> Any:
            return self.b(F.relu(near @ self.a(x)))

    x, y = table()
    near = torch.eye(48) + (torch.rand(48, 48) > 0.9).float()
    return case(Net(), F.cross_entropy, (x, near / near.sum(1, keepdim=True), y))


@healthy
def time_first_language_model() -> Any:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.rnn, self.head = nn.Embedding(20, 12), nn.LSTM(12, 24), nn.Linear(24, 20)

        def forward(self, ids: Any) -> Any:
            return self.head(self.rnn(self.embed(ids))[0])

    ids = torch.randint(0, 20, (9, 6))
    return case(Net(), lambda o, t: F.cross_entropy(o.flatten(0, 1), t.flatten()), (ids[:-1], ids[1:]))


@healthy
def trunk_kept_in_evaluation() -> Any:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.trunk = nn.Sequential(nn.Linear(12, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Dropout(0.2)).requires_grad_(False)
            self.head = nn.Linear(24, 3)

        def train(self, mode: bool = True) -> Any:
            super().train(mode)
            self.trunk.eval()
            return self

        def forward(self, x: Any) -> Any:
            return self.head(self.trunk(x))

    return case(Net(), F.cross_entropy, table())


@healthy
def variational_autoencoder() -> Any:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = mlp(12, 8), mlp(4, 12)

        def forward(self, x: Any) -> Any:
            mean, log_var = self.a(x).chunk(2, 1)
            z = mean + torch.randn_like(mean) * (0.5 * log_var).exp()
            return self.b(z), mean, log_var

    x = torch.randn(48, 12)
    return case(Net(), lambda o, t: F.mse_loss(o[0], t) - 0.005 * (1 + o[2] - o[1] ** 2 - o[2].exp()).mean(), (x, x))


@healthy
def two_optimizers_and_large_targets() -> Any:
    net = mlp(8, 1)
    x, y = numbers()
    weights = [p for p in net.parameters() if p.dim() > 1]
    rest = [p for p in net.parameters() if p.dim() < 2]
    return case(net, F.mse_loss, (x, 20000 * y + 150000), [torch.optim.SGD(weights, lr=1e-6), adam_of(rest)])


@healthy
def pairs_of_two_towers() -> Any:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = mlp(8, 16), mlp(6, 16)

        def forward(self, x: Any, y: Any) -> Any:
            return 14 * F.normalize(self.a(x), dim=1) @ F.normalize(self.b(y), dim=1).T

    x = torch.randn(16, 8)
    return case(Net(), lambda o, t: (F.cross_entropy(o, t) + F.cross_entropy(o.T, t)) / 2, (x, x[:, :6], torch.arange(16)))


@healthy
def hinge_of_a_normed_critic() -> Any:
    normed = nn.utils.parametrizations.spectral_norm
    net = nn.Sequential(normed(nn.Linear(8, 32)), nn.LeakyReLU(0.2), normed(nn.Linear(32, 1)))
    return case(net, lambda o, t: F.relu(1 - o * t).mean(), (torch.randn(32, 8), torch.randn(32, 1).sign()))


@healthy
def ratings_from_two_tables() -> Any:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.user, self.item = nn.Embedding(20, 8), nn.Embedding(30, 8)

        def forward(self, user: Any, item: Any) -> Any:
            return (self.user(user) * self.item(item)).sum(1)

    return case(Net(), F.mse_loss, (torch.randint(0, 20, (64,)), torch.randint(0, 30, (64,)), torch.rand(64) * 4 + 1))


@healthy
def triplets() -> Any:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = mlp(6, 8)

        def forward(self, *parts: Any) -> Any:
            return tuple(map(self.net, parts))

    a = torch.randn(20, 6)
    return case(Net(), lambda o, t: F.triplet_margin_loss(*o), (a, a + 0.1 * torch.randn(20, 6), torch.randn(20, 6), torch.zeros(20)))


@healthy
def frozen_teacher_beside() -> Any:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.student, self.teacher = mlp(8, 4), mlp(8, 4, 64).requires_grad_(False)

        def forward(self, x: Any) -> Any:
            student = self.student(x)
            with torch.no_grad():
                return student, self.teacher(x)

    net = Net()
    loss = lambda o, t: F.cross_entropy(o[0], t) + F.kl_div(F.log_softmax(o[0], 1), F.softmax(o[1], 1), reduction="batchmean")  # noqa: E731
    return case(net, loss, (torch.randn(32, 8), torch.randint(0, 4, (32,))), torch.optim.Adam(net.student.parameters(), lr=1e-3))


def adam_of(parameters: Any) -> Any:
    return torch.optim.Adam(parameters, lr=1e-3)


def theirs(model: Any, loss: Any, batch: Any, optimizer: Any) -> str:
    """What torchtest2 says: flagged, or nothing, or that it could not."""
    try:
        import torchtest2
    except ImportError:
        return "not installed"
    inputs, target = (batch, batch) if torch.is_tensor(batch) else (batch[0] if len(batch) == 2 else tuple(batch[:-1]), batch[-1])
    try:
        return (
            "silent"
            if torchtest2.check_model(model, inputs, target, loss_fn=loss, optimizer=optimizer[0] if isinstance(optimizer, list) else optimizer).ok
            else "flagged"
        )
    except Exception as error:
        return f"flagged ({type(error).__name__})"


def main(names: list[str]) -> None:
    """One line a case, the sums last."""
    flagged = named = alarms = other = 0
    took: list[float] = []
    for name, (make, accepted) in {**BUGS, **{n: (m, ()) for n, m in HEALTHY.items()}}.items():
        if names and name not in names:
            continue
        torch.manual_seed(0)
        given = make()
        began = time.process_time()
        found = sabueso.examine(*given[:3], optimizer=given[3])
        took.append(time.process_time() - began)
        said = [f.check for f in found.culprits]
        rival = theirs(*given)
        flagged, named = flagged + bool(said and accepted), named + bool(said and said[0] in accepted)
        alarms, other = alarms + bool(said and not accepted), other + (rival.startswith("flagged") and bool(accepted))
        mark = "ok" if bool(said) == bool(accepted) and (not accepted or said[0] in accepted) else "MISS"
        print(f"{mark:<5}{name:<32}{', '.join(said) or 'silent':<60}{rival:<24}{took[-1]:.2f} s")
        if mark == "MISS" and names:
            print(found)
    bugs = [n for n in BUGS if not names or n in names]
    print(f"\nflagged {flagged} of {len(bugs)}, right cause first {named}, false alarms {alarms} of {len(took) - len(bugs)}")
    print(f"torchtest2 flagged {other}; CPU seconds of examine: median {sorted(took)[len(took) // 2]:.2f}, most {max(took):.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
