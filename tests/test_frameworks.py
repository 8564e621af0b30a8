"""Loops that are not the person's own: Lightning's, the Transformers Trainer's, Accelerate's. What is named is the person's line, never the library's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from programs import diagnosed

pytestmark = pytest.mark.heavy

TRAINER = """
import torch
from torch import nn
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed
set_seed(0)
ids = torch.randint(8, 50, (96, 10))
labels = torch.arange(96) % 3
ids[:, 2:6] = 5 + labels[:, None]
ids[:, 6] = 7
ids[53] = 9
rows = [{"input_ids": i, "attention_mask": torch.ones_like(i), "labels": l} for i, l in zip(ids, labels)]
shape = dict(vocab_size=50, hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=64, max_position_embeddings=16)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.extra = BertForSequenceClassification(BertConfig(**shape, num_labels=3)), nn.Linear(1, 3)
    def forward(self, input_ids=None, attention_mask=None, labels=None):
        share = (input_ids == 7).float().mean(1, keepdim=True)
        added = self.extra(torch.log(share + AWAY))  # <- nonfinite-loss
        logits = self.inner(input_ids=input_ids, attention_mask=attention_mask).logits + added
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}
args = TrainingArguments(
    output_dir="out", num_train_epochs=3, per_device_train_batch_size=8, gradient_accumulation_steps=2, report_to=[], save_strategy="no",
    learning_rate=RATE,  # <- learning-rate-too-high
    disable_tqdm=True, use_cpu=True, warmup_steps=WARM,
)
trainer = Trainer(model=Net(), args=args, train_dataset=rows[:72], eval_dataset=rows[72:])
done = trainer.train()
with open("said.txt", "w") as f:
    f.write(repr([done.training_loss, [p.double().sum().item() for p in trainer.model.parameters()], torch.rand(2).tolist()]))
"""
TRAINED = {
    "nonfinite-loss": TRAINER.replace("AWAY", "0").replace("RATE", "1e-3").replace("WARM", "0"),
    "learning-rate-too-high": TRAINER.replace("AWAY", "0.1").replace("RATE", "5.0").replace("WARM", "0"),
    "": TRAINER.replace("AWAY", "0.1").replace("RATE", "2e-3").replace("WARM", "4"),
}
ACCELERATED = """
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
X = torch.rand(128, 6) + 0.1
T = X.sum(1, keepdim=True)
X[77] = 0
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
net = torch.nn.Linear(6, 1, bias=False)
opt = torch.optim.SGD(net.parameters(), 1e-2)
net, opt, loader = accelerator.prepare(net, opt, DataLoader(TensorDataset(X, T), batch_size=16, shuffle=True))
for x, t in loader:
    with accelerator.accumulate(net):
        loss = (net(x).abs().log() - t).square().mean()  # <- nonfinite-loss
        accelerator.backward(loss)
        opt.step()
        opt.zero_grad()
"""
MANUAL = """
import logging, warnings
warnings.simplefilter("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
import lightning, torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization, self.lin, self.calls = False, nn.Linear(6, 1), 0
    def training_step(self, batch, number):
        self.calls += 1
        opt, x = self.optimizers(), batch[0]
        out = self.lin(x)
        root = (out - out.detach()).square() if number > 4 else out.square() + 1
        loss = out.square().mean() + root.sqrt().mean()  # <- nonfinite-loss
        opt.zero_grad()
        self.manual_backward(loss)
        opt.step()
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 1e-2)
net, quiet = Net(), dict(logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
trainer = lightning.Trainer(max_epochs=1, accelerator="cpu", **quiet)
trainer.fit(net, DataLoader(TensorDataset(torch.rand(96, 6)), batch_size=12))
state = trainer.optimizers[0].state_dict()["state"]
with open("said.txt", "w") as f:
    f.write(repr([net.calls, [[s["step"].item(), s["exp_avg"].tolist()] for s in state.values()], torch.rand(2).tolist()]))
"""


def named(program: str, check: str, folder: Path) -> None:
    """The check is the first culprit, at the marked line."""
    (folder / "program.py").write_text(program)
    first = diagnosed("program.py", folder)["culprits"][0]
    line = next(n for n, text in enumerate(program.splitlines(), 1) if text.endswith(f"# <- {check}"))
    assert (first["check"], first["place"]["line"]) == (check, line)
    if check == "nonfinite-loss":
        assert "to the last bit" in first["verified"]["how"]


def bare(program: str, folder: Path) -> str:
    """What a program writes when nobody watches."""
    (folder / "program.py").write_text(program)
    subprocess.run([sys.executable, "program.py"], cwd=folder, check=True, capture_output=True)
    return (folder / "said.txt").read_text()


@pytest.mark.parametrize("check", [c for c in TRAINED if c])
def test_trainer_of_transformers(check: str, tmp_path: Path) -> None:
    pytest.importorskip("transformers"), pytest.importorskip("accelerate")
    named(TRAINED[check], check, tmp_path)


def test_healthy_trainer_of_transformers_is_left_alone(tmp_path: Path) -> None:
    pytest.importorskip("transformers"), pytest.importorskip("accelerate")
    alone, watched = tmp_path / "bare", tmp_path / "watched"
    alone.mkdir(), watched.mkdir()
    (watched / "program.py").write_text(TRAINED[""])
    told = diagnosed("program.py", watched)
    assert not told["culprits"] and not told["own_errors"]
    assert (watched / "said.txt").read_text() == bare(TRAINED[""], alone)


def test_loop_of_accelerate(tmp_path: Path) -> None:
    pytest.importorskip("accelerate")
    named(ACCELERATED, "nonfinite-loss", tmp_path)


def test_manual_optimisation_of_lightning_takes_no_step_twice(tmp_path: Path) -> None:
    pytest.importorskip("lightning")
    alone, watched = tmp_path / "bare", tmp_path / "watched"
    alone.mkdir(), watched.mkdir()
    named(MANUAL, "nonfinite-loss", watched)
    assert (watched / "said.txt").read_text() == bare(MANUAL, alone)
