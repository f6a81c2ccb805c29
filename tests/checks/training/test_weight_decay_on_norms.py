from __future__ import annotations

import dataclasses

from tests.fakes import judged, losses, model, optimizer
from torch_debugger.records import OptimizerFact, Record

NAME = "weight-decay-on-norms"
NET = model({"net": "Net", "net.fc": "Linear", "net.norm": "LayerNorm"})
NET = dataclasses.replace(NET, modules=tuple(dataclasses.replace(module, parameters=16) for module in NET.modules))
RUN = losses([1.0] * 200)
HELD = ("net.fc.weight", "net.fc.bias", "net.norm.weight", "net.norm.bias")


def adamw(decay: float, lr: float = 1e-2, parameters: tuple[str, ...] = HELD, kind: str = "AdamW") -> OptimizerFact:
    return optimizer(kind, lr, parameters, weight_decay=decay)


def test_strong_decay_on_everything() -> None:
    (note,) = judged([NET, adamw(0.1), *RUN], NAME)
    assert note.message == (
        "`weight_decay=0.1` of `optimizer` at train.py:28 also pulls `net.norm.weight` of normalisation layers "
        "and 2 biases towards zero."
    )
    assert note.severity == "note" and "'weight_decay': 0.0" in note.fix


def test_weak_decay_short_runs_models_without_norms_and_groups_are_silent() -> None:
    def silent(*records: Record) -> bool:
        return not judged([NET, *records], NAME)

    assert silent(adamw(0.01), *RUN)
    assert silent(adamw(0.1), *RUN[:3])
    assert silent(adamw(0.1, parameters=HELD[:2]), *RUN)
    assert silent(adamw(5e-4, kind="SGD"), *RUN)
    groups = ({"lr": 1e-2, "weight_decay": 0.1}, {"lr": 1e-2, "weight_decay": 0.0})
    assert silent(dataclasses.replace(adamw(0.1), groups=groups), *RUN)
