"""Scripts as people write them, with one line changed."""

from __future__ import annotations

import sys
from pathlib import Path

from tests import preloaded
from tests.summaries.peers import accumulated

CLASSIFIER = """
import torch
from torch import nn
from torch_debugger import SummaryWriter

model = nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
writer = SummaryWriter("runs/digits")
images, labels = torch.rand(32, 1, 8, 8), torch.randint(0, 4, (32,))
writer.add_graph(model, images)
writer.add_images("samples", images)
writer.add_embedding(images.flatten(1), metadata=labels, label_img=images)
for epoch in range(3):
    loss = nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    writer.add_scalar("Loss/train", loss, epoch)
    writer.add_scalar("Accuracy/train", (model(images).argmax(1) == labels).float().mean().item(), epoch)
    for name, param in model.named_parameters():
        writer.add_histogram(f"weights/{name}", param, epoch)
        writer.add_histogram(f"grads/{name}", param.grad, epoch)
writer.add_hparams({"lr": 0.01, "batch_size": 64}, {"hparam/accuracy": 0.92, "hparam/loss": 0.03})
writer.close()
"""

GAN = """
import torch
from torch import nn
from torch_debugger import SummaryWriter
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt

class Trainer:
    def __init__(self):
        self.netG, self.netD = nn.Linear(4, 2), nn.Linear(2, 1)
        self.writer = SummaryWriter(log_dir="runs/gan", flush_secs=10, max_queue=100)

    def step(self, i):
        fake = self.netG(torch.randn(16, 4))
        d = torch.sigmoid(self.netD(fake))
        self.writer.add_scalars("loss", {"G": -d.log().mean().item(), "D": -(1 - d).log().mean().item()}, i)
        if i % 5 == 0:
            points, axes = plt.subplots()
            axes.scatter(*fake.detach().T)
            self.writer.add_figure("fakes", points, global_step=i)
            self.writer.add_histogram("D(G(z))", d, i, bins="auto")

trainer = Trainer()
for i in range(10):
    trainer.step(i)
trainer.writer.flush()
"""

RESUMED = """
import argparse
import numpy as np
import torch
from torch_debugger import SummaryWriter

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=1e-3)
args = parser.parse_args([])
for start in (0, 5):
    with SummaryWriter(logdir="runs/resumed", purge_step=start) as tb:
        tb.add_text("args", str(vars(args)))
        for it in range(start, start + 10):
            tb.add_scalar("loss", np.exp(-it / 10), it)
            tb.add_scalar("lr", args.lr, it)
        tb.add_pr_curve("pr", np.array([0, 1, 1, 0]), np.array([0.1, 0.8, 0.4, 0.6]), it)
        tb.add_audio("wave", np.sin(np.arange(4000) / 20), it, 8000)
        tb.add_video("clip", torch.rand(1, 4, 3, 16, 16), it)
        tb.add_custom_scalars_multilinechart(["loss", "lr"])
"""


def run(folder: Path, script: str) -> str:
    (folder / "train.py").write_text(script)
    done = preloaded.run([sys.executable, "train.py"], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_a_classifier_with_everything_the_tutorials_show(tmp_path: Path) -> None:
    assert run(tmp_path, CLASSIFIER) == ""

    found = accumulated(tmp_path / "runs" / "digits")

    assert found.Tags()["graph"]
    assert found.Tags()["images"] == ["samples"]
    assert len(found.Tags()["histograms"]) == 8
    assert len(found.Scalars("Loss/train")) == 3
    assert (tmp_path / "runs" / "digits" / "projector_config.pbtxt").is_file()
    assert sum(path.is_dir() for path in (tmp_path / "runs" / "digits").iterdir()) == 2


def test_a_class_that_holds_its_writer_and_never_closes_it(tmp_path: Path) -> None:
    assert run(tmp_path, GAN) == ""

    found = accumulated(tmp_path / "runs" / "gan")

    assert [picture.step for picture in found.Images("fakes")] == [0, 5]
    assert [len(accumulated(tmp_path / "runs" / "gan" / f"loss_{name}").Scalars("loss")) for name in "GD"] == [
        10,
        10,
    ]


def test_a_run_that_is_taken_up_again(tmp_path: Path) -> None:
    assert run(tmp_path, RESUMED) == ""

    found = accumulated(tmp_path / "runs" / "resumed")

    assert [point.step for point in found.Scalars("loss")] == list(range(15))
    assert found.Tags()["audio"] == ["wave"]
    assert found.Tags()["images"] == ["clip"]
