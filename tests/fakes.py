"""Small builders of records for tests: every field has a plain default, name what matters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy

from torch_debugger.checks.judge import Judge, RanksJudge
from torch_debugger.records import (
    CarriedGradient,
    CostFact,
    CrashFact,
    CrashFrame,
    Edit,
    EndFact,
    Finding,
    LedgerFact,
    LedgerRow,
    LocalTensor,
    LossSite,
    ModelFact,
    ModuleFact,
    OptimizerFact,
    ParameterFact,
    Place,
    Record,
    RunFact,
    Scalars,
    Table,
    TensorRows,
)


def place(line: int = 31, module: str | None = None, file: str = "train.py", code: str | None = None) -> Place:
    return Place(file=file, line=line, module=module, code=code)


def run(script: str = "train.py", device: str = "cpu", **others: object) -> RunFact:
    facts: dict[str, object] = {
        "script": script, "arguments": (), "folder": "/home/user/project", "pid": 4242,
        "started": 1_700_000_000.0, "python": "3.11.7", "torch": "2.13.0", "device": device,
        "debugger": "0.1.0", "budget": 0.02, "names_accelerator": False,
    }  # fmt: skip
    return RunFact(**{**facts, **others})  # type: ignore[arg-type]


def end(outcome: str = "finished", steps: int = 120, counted: str = "optimizer steps") -> EndFact:
    return EndFact(outcome=outcome, steps=steps, counted=counted)


def cost(spent_s: float = 0.27, elapsed_s: float = 34.37, deep_steps: int = 12, step: int = 120) -> CostFact:
    return CostFact(step, spent_s, elapsed_s, budget=0.02, light_steps=step, deep_steps=deep_steps)


def scalars(step: int, tags: Mapping[str, float] | None = None, **values: float) -> Scalars:
    """scalars(3, loss=0.7) or, for tags that are no Python names, scalars(3, {"lr/0": 0.1})"""
    return Scalars(step, time=1_700_000_000.0 + 0.1 * step, values={**(tags or {}), **values})


def losses(values: Iterable[float], first_step: int = 1) -> list[Scalars]:
    """One Scalars per loss, at consecutive steps."""
    return [scalars(step, loss=value) for step, value in enumerate(values, first_step)]


def loss_site(line: int = 40, name: str = "loss", step: int = 1) -> LossSite:
    return LossSite(name, place(line, code=f"{name}.backward()"), step)


def model(
    modules: Mapping[str, str],
    parameters: Mapping[str, tuple[int, ...]] | None = None,
    root: str = "net",
    step: int = 1,
) -> ModelFact:
    """model({"net": "Net", "net.fc1": "Linear"}, {"net.fc1.weight": (4, 8)})"""
    return ModelFact(
        root=root,
        kind=modules.get(root, "Net"),
        place=place(5, code="class Net(nn.Module):"),
        modules=tuple(
            ModuleFact(path, kind, place(10 + index, module=path)) for index, (path, kind) in enumerate(modules.items())
        ),
        parameters=tuple(
            ParameterFact(path, shape, "float32", "cpu", trainable=True) for path, shape in (parameters or {}).items()
        ),
        step=step,
        forward=place(20, code="def forward(self, x):"),
    )


def optimizer(
    kind: str = "Adam",
    lr: float = 1e-3,
    parameters: Iterable[str] = ("net.fc1.weight", "net.fc1.bias"),
    name: str = "optimizer",
    step: int = 1,
    line: int = 28,
    source: str | None = None,
    **settings: float,
) -> OptimizerFact:
    code = source or f"torch.optim.{kind}(net.parameters(), lr={lr:g})"
    where = place(line, code=f"{name} = {code}")
    return OptimizerFact(name, kind, where, ({"lr": lr, **settings},), tuple(parameters), step, code)


def ledger_row(name: str, elements: int = 64, **others: object) -> LedgerRow:
    """A healthy parameter, unless told otherwise."""
    facts: dict[str, object] = {
        "trainable": True, "registered": True, "in_optimizer": True, "used": True, "gradient": "nonzero",
        "changed": True,
    }  # fmt: skip
    return LedgerRow(name=name, elements=elements, **{**facts, **others})  # type: ignore[arg-type]


def ledger(
    *rows: LedgerRow, root: str = "net", step: int = 1, optimizers: Iterable[str] = ("optimizer",)
) -> LedgerFact:
    return LedgerFact(root, step, tuple(optimizers), rows)


def carried(
    step: int, carried_norm: float, norm: float, cleared: bool = False, optimizer: str = "optimizer"
) -> CarriedGradient:
    where = place(40, code="loss.backward()")
    return CarriedGradient(step, optimizer, where, cleared, carried_norm, norm, "net.fc1.weight")


def rows(
    step: int, kind: str, columns: Iterable[str], values: Mapping[str, Iterable[float]], root: str = "net"
) -> TensorRows:
    """rows(3, "parameter", ("grad_norm",), {"net.fc1.weight": [0.5]})"""
    table = Table(kind, root, tuple(values), tuple(columns))
    return TensorRows(step, table, numpy.array([list(row) for row in values.values()], dtype=numpy.float32))


def tensor(
    name: str = "x",
    shape: tuple[int, ...] = (32, 128),
    dtype: str = "float32",
    device: str = "cpu",
    requires_grad: bool = False,
) -> LocalTensor:
    return LocalTensor(name, shape, dtype, device, requires_grad)


def crash(message: str, kind: str = "RuntimeError", step: int = 0, **others: object) -> CrashFact:
    where = place(22, module="net", code="x = self.fc2(x)")
    frame = CrashFrame("train.py", 22, "forward", "x = self.fc2(x)", True, "net", "Net", (tensor(),))
    facts: dict[str, object] = {
        "frames": (frame,),
        "place": where,
        "layer": None,
        "traceback": f"Traceback (most recent call last):\n{kind}: {message}",
    }
    return CrashFact(kind=kind, message=message, step=step, **{**facts, **others})  # type: ignore[arg-type]


def edit(before: str, after: str, line: int = 31, file: str = "train.py") -> Edit:
    return Edit(file, line, before, after)


def finding(name: str = "missing-zero-grad", severity: str = "error", **others: object) -> Finding:
    facts: dict[str, object] = {
        "check": "TD101", "confidence": 0.97,
        "message": "Gradients are never cleared: since step 2 each update adds those of all steps before.",
        "why": "backward() adds to .grad, so without zero_grad() the update is a sum over the whole run.",
        "fix": "Call optimizer.zero_grad() before loss.backward().", "where": place(31), "first_step": 2,
        "last_step": 120, "evidence": {"carried_norm": 3.1, "norm": 4.2},
    }  # fmt: skip
    return Finding(name=name, severity=severity, **{**facts, **others})  # type: ignore[arg-type]


def judged(records: Iterable[Record], *only: str) -> list[Finding]:
    """What the judge finds in these records, with these checks alone (or all of them)."""
    judge = Judge(only=only)
    for record in records:
        judge.see(record)
    judge.finish()
    assert not judge.faults, judge.faults
    return judge.findings


def findings_of(check: str, *first: Record) -> Callable[..., list[Finding]]:
    """What this check finds in the records it is called with, behind the first ones."""
    return lambda *records: judged([*first, *records], check)


def only(findings: list[Finding]) -> Finding:
    """The one that there is."""
    (finding,) = findings
    return finding


def judged_ranks(records: Mapping[int, Iterable[Record]], *only: str) -> list[Finding]:
    """The same of several ranks: the records of each."""
    judge = RanksJudge(only=only)
    for rank, each in records.items():
        for record in each:
            judge.see(record, rank)
    judge.finish()
    assert not judge.faults, judge.faults
    return judge.findings
