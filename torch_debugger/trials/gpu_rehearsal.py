"""GPU rehearsal: the forward pass on a pretended accelerator, in a fork, on a machine without one."""

from __future__ import annotations

import dataclasses
import json
import sys
from typing import Any

import torch
from torch import nn

from torch_debugger.model.forks import ForkedTask
from torch_debugger.records import Place, Rehearsal
from torch_debugger.records.codec import from_plain, to_plain
from torch_debugger.source.device_placement import sets_default_device
from torch_debugger.trials.cpu_tensors import left_behind, script_tree, unregistered_layers

_WRAPPERS = (nn.DataParallel, nn.parallel.DistributedDataParallel)


class RehearsalProcess:
    """A rehearsal on its way. `poll` it between steps; `close` it when the run ends first."""

    def __init__(self, task: ForkedTask | None, draft: Rehearsal) -> None:
        self._task = task
        self._draft = draft  # what is known if the child tells nothing

    @staticmethod
    def start(
        root: nn.Module,
        root_name: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        timeout_s: float = 20.0,
        step: int,
        unregistered: bool = False,
    ) -> RehearsalProcess:
        """Fork now, with the model and the batch as they are, and return at once.

        `unregistered`: layers in plain lists count as left on the CPU (in a run another check tells)."""
        draft = Rehearsal(root_name, "cuda", "failed", Place(), None, "", (), (), 0.0, step)
        reason = refusal()
        if reason:
            return RehearsalProcess(None, dataclasses.replace(draft, error=reason))
        task = ForkedTask(lambda: _rehearse_here(root, args, kwargs, draft, unregistered), timeout_s)
        return RehearsalProcess(task, draft)

    def poll(self) -> Rehearsal | None:
        """The result once there is one. Never waits."""
        if self._task is None:
            return self._draft
        text = self._task.poll()
        return None if text is None else self._result(text)

    def wait(self) -> Rehearsal:
        return self._draft if self._task is None else self._result(self._task.wait())

    def close(self) -> None:
        if self._task is not None:
            self._task.kill()

    def _result(self, text: bytes) -> Rehearsal:
        assert self._task is not None
        if self._task.ended == "done":
            record = from_plain("Rehearsal", json.loads(text))
            assert isinstance(record, Rehearsal)
            return dataclasses.replace(record, cost_s=self._task.cost_s)
        outcome = "timeout" if self._task.ended == "timeout" else "failed"
        error = f"the rehearsal's process {'took too long' if outcome == 'timeout' else 'died'}"
        return dataclasses.replace(self._draft, outcome=outcome, error=error, cost_s=self._task.cost_s)


def rehearse(
    root: nn.Module,
    root_name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    timeout_s: float = 20.0,
    step: int,
    unregistered: bool = False,
) -> Rehearsal:
    """The same, waited for."""
    return RehearsalProcess.start(
        root, root_name, args, kwargs, timeout_s=timeout_s, step=step, unregistered=unregistered
    ).wait()


def refusal() -> str:
    if sys.platform == "win32":
        return "this system cannot fork"
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return "a real accelerator is in use"
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return "a process group is in use, whose sockets a fork would share"
    script = script_tree()
    if script is not None and sets_default_device(script):
        return "the script may set a default device"
    return ""


def _rehearse_here(
    root: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], draft: Rehearsal, unregistered: bool
) -> str:
    model = root.module if isinstance(root, _WRAPPERS) else root
    try:
        stays = left_behind(model) | (unregistered_layers(model) if unregistered else {})
        # Imported in the fork alone: fake tensors bring modules that the training does not need.
        from torch_debugger.trials.device_mismatch import describe_mismatch
        from torch_debugger.trials.pretended_gpu import DeviceMismatchError, Pretence

        pretence = Pretence(draft.device, stays)
        prepare_torch()
        try:
            with torch.no_grad(), pretence:
                getattr(model, "_orig_mod", model)(*args, **kwargs)
            record = dataclasses.replace(draft, outcome="passed")
        except DeviceMismatchError as mismatch:
            record = describe_mismatch(mismatch, model, stays, pretence.accelerated, draft)
    except Exception as error:
        record = dataclasses.replace(draft, error=f"{type(error).__name__}: {error}"[:500])
    return json.dumps(to_plain(record))


def prepare_torch() -> None:
    torch.distributions.Distribution.set_default_validate_args(False)  # it would look at values
    for hooks in ("_global_forward_pre_hooks", "_global_forward_hooks"):
        getattr(torch.nn.modules.module, hooks).clear()
    checkpointing: Any = sys.modules.get("torch.utils.checkpoint")
    if checkpointing is not None:  # it would ask for the module of the stand-in's device
        checkpointing._infer_device_type = lambda *values: "cpu"
    if "torch._dynamo" in sys.modules:
        torch.compiler.set_stance("force_eager")
