"""Six runs as a report meets them, for the golden texts."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from tests import fakes
from torch_debugger.records import Finding, Notice, ProbeFault, Record, RunFact
from torch_debugger.report.result import RunDigest, RunResult

SCRIPT = """\
import torch
from torch import nn

from shapes import make_loader

net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)


def train(loader, epochs):
    for epoch in range(epochs):
        for x, y in loader:
            loss = nn.functional.mse_loss(net(x), y)
            loss.backward()
            optimizer.step()

        print(epoch, loss.item())
"""


def write_script(folder: Path) -> None:
    (folder / "train.py").write_text(SCRIPT, encoding="utf-8")


def result_of(
    folder: Path,
    findings: list[Finding],
    *records: Record,
    exit_code: int | None = 0,
    log: str | None = "runs/train-20250301-101500",
) -> RunResult:
    digest = RunDigest("train.py")
    for record in (fakes.run(folder=str(folder)), *records):
        digest.see(record)
    return digest.result(findings, exit_code=exit_code, log=log, checks=12)


def without_torch(folder: Path) -> RunFact:
    return dataclasses.replace(fakes.run(folder=str(folder)), torch="")


ZERO_GRAD = fakes.finding(
    check="TD101",
    message="Gradients are never cleared: since step 2 every update also uses those of all earlier steps.",
    why="backward() adds to .grad. Without zero_grad() the gradient is a sum over the whole run, so its norm "
    "grows with the number of steps and old batches steer every update.",
    fix="Clear the gradients before each backward().",
    where=fakes.place(14, code="loss.backward()"),
    evidence={
        "norm_carried_into_backward": 3.1213,
        "norm_used_by_the_step": 4.25,
        "updates_without_clearing": 1199,
        "optimizer": "Adam",
    },
    edit=fakes.edit(
        "            loss.backward()", "            optimizer.zero_grad()\n            loss.backward()", 14
    ),
)
NOT_FINITE = fakes.finding(
    "loss-not-finite",
    check="TD601",
    message="The loss became nan at step 14.",
    where=fakes.place(14, module="net.2"),
    first_step=14,
    symptom_of="missing-zero-grad",
)
DEAD = fakes.finding(
    "dead-relu",
    "warning",
    check="TD301",
    confidence=0.7,
    status="preview",
    message="29 of 32 units of net.1 give zero for every sample since step 60.",
    fix="Use a smaller learning rate, or nn.LeakyReLU in place of nn.ReLU.",
    where=fakes.place(6, module="net.1"),
    first_step=60,
)
NOTE = fakes.finding(
    "small-batch",
    "note",
    check="TD201",
    message="Batches hold 2 samples.",
    where=fakes.place(12),
    first_step=1,
)
CRASH = fakes.finding(
    "shape-mismatch",
    check="TD901",
    message="net.2 (Linear) was given 32 features and expects 64.",
    why="The layer before it, net.0, makes 32 features; a Linear multiplies only what has its in_features.",
    fix="Set in_features of net.2 to 32.",
    where=fakes.place(13, module="net.2", code="loss = nn.functional.mse_loss(net(x), y)"),
    first_step=0,
    last_step=0,
    evidence={"expected_features": 64, "given_features": 32, "given_shape": "(16, 32)"},
    edit=fakes.edit(
        "net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(64, 1))",
        "net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))",
        6,
    ),
)
HOSTILE = fakes.finding(
    "odd-names",
    message="[bold red]net[/bold red].\x1b[31mlayer\x1b[0m was never used :smile: \u202ereversed\nsecond line",
    why="`code` | table <b>html</b> *stars*",
    fix="Rename `[link=http://x]it[/link]`.",
    where=fakes.place(
        3, module="net.[red]x[/red]\x07", file="no such [dir]/tr\x1bain.py", code="x = [" + "1, " * 90 + "]"
    ),
    evidence={"share_[b]": float("nan"), "largest": float("inf"), "name_\x1b[2J": "层 [dim]", "tiny": 1.25e-7},
    edit=fakes.edit("```\nx = '[red]'\x1b[2J", "```\nx = '[/red]'"),
)


def all_results(folder: Path) -> dict[str, RunResult]:
    trained = [*fakes.losses([2.3026, 1.9, 0.8]), fakes.cost(), fakes.end(steps=1200)]
    diverged = [*fakes.losses([2.3026, float("nan")]), fakes.cost(deep_steps=1), fakes.end(steps=1200)]
    fault = ProbeFault("the data loader probe", "TypeError: 'NoneType' object is not iterable", 3)
    thinned = Notice("The log reached 200 MB: from step 900 on, tensor rows are kept every 2nd step.", 900)
    return {
        "verdict": result_of(folder, [ZERO_GRAD, DEAD, NOTE, NOT_FINITE], *diverged),
        "healthy": result_of(folder, [], *trained),
        "healthy_with_note": result_of(folder, [NOTE], *trained, fault, thinned),
        "crash": result_of(folder, [CRASH], fakes.model({"net": "Sequential"}), fakes.end("crashed", 0), exit_code=1),
        "killed": result_of(folder, [], *trained[:3], exit_code=-9),
        "no_torch": result_of(folder, [], without_torch(folder), fakes.end(steps=0), log=None),
        "hostile": result_of(folder, [HOSTILE], *trained),
    }
