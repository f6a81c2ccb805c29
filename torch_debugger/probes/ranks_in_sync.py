"""What this rank has, as a few checksums: weights, gradients, and what its models were given.

On steps chosen by their number alone, so that all ranks choose the same ones without asking each other. The
checksums are made on the device and read when they have come; no collective is called for them. Half a
millisecond each time, some sixty times in a thousand steps.
"""

from __future__ import annotations

import functools
import re
from collections.abc import MutableMapping, Sequence
from typing import Any, cast

import torch
from torch import nn
from torch.nn.modules.module import register_module_module_registration_hook
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.utils.hooks import RemovableHandle

from torch_debugger.model.forks import is_sharded
from torch_debugger.model.hooks import WeakKeysById
from torch_debugger.model.nested_tensors import tensors_in
from torch_debugger.probes.data.inputs_targets import model_call
from torch_debugger.probes.model.root_modules import RootModule, RootModules
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.probe import Patches, Probe
from torch_debugger.probes.ranks_collectives import Collectives
from torch_debugger.probes.watch import Watch
from torch_debugger.records import CalledModel, GradientAverage, Place, RankDigest
from torch_debugger.source.frames import place_of, user_frame
from torch_debugger.stats.dispatch_modes import no_grad
from torch_debugger.stats.summary import checksums, norms
from torch_debugger.stats.transfer import Numbers

_INPUT_ELEMENTS = 1024  # of a tensor that a model is given


class RankDigests(Probe):
    name = "rank digests"
    IN_A_DOUBLING = 8  # of the steps
    SELDOMEST = 256  # never rarer than each of these
    PARAMETERS = 32
    CALLS = 8  # of models, in a step
    TENSORS = 4  # of a call

    def __init__(self, watch: Watch, roots: RootModules, optimizers: Optimizers, collectives: Collectives) -> None:
        super().__init__(watch)
        self.roots = roots
        self.optimizers = optimizers
        self.collectives = collectives
        self.averages = Averages()
        self._handles: list[RemovableHandle] = []
        self._step = 0  # the last one that was due
        self._calls: list[tuple[str, str, Place, torch.Tensor]] = []
        roots.on_call.append(self._see_call)

    def install(self, patches: Patches) -> None:
        if torch.distributed.is_available():
            self._handles = [self.averages.listen(self.watch), register_optimizer_step_pre_hook(self._before_step)]

    def remove(self) -> None:
        self._calls = []
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def end_step(self) -> None:
        """What was noted belongs to the step that is over; whether the next one is due is known already."""
        self._calls = []
        due = is_due(self.watch.step + 1) and _is_one_of_several()
        self.collectives.reduced = set() if due else None
        self.collectives.reduced_sizes = set()

    def _see_call(self, root: RootModule, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        if not is_due(self.watch.step) or len(self._calls) >= self.CALLS or not _is_one_of_several():
            return
        inputs = [tensor for tensor in tensors_in((arguments, keywords)) if _is_readable(tensor)][: self.TENSORS]
        module = root.module()
        if inputs and module is not None and len({tensor.device for tensor in inputs}) == 1:
            sums = checksums(inputs, _INPUT_ELEMENTS)
            self._calls.append((root.name, self.averages.role_of(module), model_call(), sums))

    def _before_step(self, optimizer: Optimizer, arguments: Any, keywords: Any) -> None:
        if not torch.compiler.is_compiling() and is_due(self.watch.step):  # in this order: it is traced
            self.watch.probe(self.name, self._look, optimizer)

    @no_grad()
    def _look(self, optimizer: Optimizer) -> None:
        if not _is_one_of_several():
            return
        tracked = self.optimizers.held.get(id(optimizer))
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        whole = [p for p in parameters if _is_readable(p) and p.dtype.is_floating_point]
        average = self.averages.of(parameters, self.roots, self.collectives)
        shards = len(whole) < len(parameters) or (average is not None and average.kind == "FSDP")
        looked_at = [] if shards else whole
        if len(looked_at) > self.PARAMETERS:
            # The first, the last and some between: those at the end are the first to have gradients.
            last, most = len(whole) - 1, self.PARAMETERS
            looked_at = [whole[place] for place in sorted({round(each * last / (most - 1)) for each in range(most)})]
        graded = [p for p in looked_at if p.grad is not None and _is_readable(p.grad)]
        gradients = [p.grad for p in graded if p.grad is not None]
        if len({tensor.device for tensor in (*looked_at, *gradients)}) > 1:
            return  # one model lies on several devices
        # A wrapper may bring its inputs from the host to its device itself.
        parts = [
            sums.to(looked_at[0].device) if looked_at and sums.device.type == "cpu" else sums
            for *_, sums in self._calls
        ]
        parts += [checksums(looked_at), norms([p.detach() for p in looked_at])] if looked_at else []
        parts += [checksums(gradients)] if gradients else []
        if len({part.device for part in parts}) != 1:
            return
        rates = [group.get("lr") for group in optimizer.param_groups]  # one that lies on a device is not asked for
        names = self.optimizers.looks.names(looked_at) if looked_at else ()
        tell = functools.partial(
            self._tell,
            self.watch.step,
            list(self.optimizers.held).index(id(optimizer)) if tracked is not None else -1,
            average,
            names,
            tuple(str(tuple(p.shape)) for p in looked_at),
            tuple(any(p is each for each in graded) for p in looked_at),
            tuple(float(rate) if isinstance(rate, (int, float)) else 0.0 for rate in rates),
            [(root, role, call, sums.numel()) for root, role, call, sums in self._calls],
            (tracked.steps if tracked is not None else 0, self.watch.clock.backwards),
        )
        self.watch.transfer.send(torch.cat([part.float() for part in parts]), tell)

    def _tell(
        self,
        step: int,
        optimizer: int,
        average: GradientAverage | None,
        names: tuple[str, ...],
        shapes: tuple[str, ...],
        graded: tuple[bool, ...],
        rates: tuple[float, ...],
        calls: list[tuple[str, str, Place, int]],
        counts: tuple[int, int],
        numbers: Numbers,
    ) -> None:
        found = iter(numbers.tolist())
        called = [
            CalledModel(root, role, call, tuple(int(next(found)) for _ in range(count)))
            for root, role, call, count in calls
        ]
        weights = tuple(int(next(found)) for _ in names)
        sizes = tuple(next(found) for _ in names)
        gradients = tuple(int(next(found)) if there else -1 for there in graded)
        read = (weights, gradients, sizes, rates, tuple(called))
        self.watch.emit(RankDigest(step, optimizer, average, names, shapes, *read, *counts))


def is_due(step: int) -> bool:
    """1 to 16, 18, 20 to 32, 36, 40 and so on: two ranks agree without a word."""
    doubling = 1 << (step.bit_length() - 1)
    return step % min(max(doubling // RankDigests.IN_A_DOUBLING, 1), RankDigests.SELDOMEST) == 0


def _is_one_of_several() -> bool:
    return torch.distributed.is_initialized() and torch.distributed.get_world_size() > 1


def _is_readable(tensor: torch.Tensor) -> bool:
    own = type(tensor).__torch_dispatch__ is torch.Tensor.__torch_dispatch__  # else it is a shard, or fake
    plain = own and tensor.layout is torch.strided and not tensor.is_complex() and not tensor.is_meta
    return plain and not tensor.is_quantized and tensor.numel() > 0


# What makes the gradients of all ranks one: DistributedDataParallel, FSDP, or lines of the user's.
_TARGET = re.compile(r"\s*([\w.]+)\s*(?::[^=]+)?=[^=]")


class Averages:
    MOST_OF = 0.9  # of the gradients: a part of a model may be left out on purpose

    def __init__(self) -> None:
        self._wrappers: MutableMapping[nn.Module, Place] = WeakKeysById()

    def listen(self, watch: Watch) -> RemovableHandle:
        """Hears of every module that goes into another one: the wrapper's own frames stay as they are, so that
        what torch warns of still names the user's line."""

        def registered(owner: nn.Module, name: str, module: nn.Module | None) -> None:
            if name == "module" and isinstance(owner, DistributedDataParallel):
                watch.probe("rank digests", self._meet, owner)

        return register_module_module_registration_hook(registered)

    def _meet(self, wrapper: nn.Module) -> None:
        self._wrappers[wrapper] = place_of(user_frame(2))

    def role_of(self, module: nn.Module) -> str:
        """Of a model that is called from outside: wrapper, inner (of one) or other."""
        if module in self._wrappers or is_sharded(module):
            return "wrapper"
        inner = any(part is module for wrapper in self._wrappers for part in wrapper.modules())
        return "inner" if inner else "other"

    def of(
        self, parameters: Sequence[torch.Tensor], roots: RootModules, collectives: Collectives
    ) -> GradientAverage | None:
        """What averages the gradients of these parameters, where anything is known to."""
        ids = {id(parameter) for parameter in parameters}
        for wrapper, made in self._wrappers.items():
            if any(id(parameter) in ids for parameter in wrapper.parameters()):
                root, target, ddp = roots.of(wrapper), _TARGET.match(made.code or ""), cast(Any, wrapper)
                return GradientAverage(
                    "DistributedDataParallel",
                    root.name if root is not None else target.group(1) if target else "",
                    made,
                    torch.distributed.get_world_size(ddp.process_group),
                    bool(getattr(ddp, "_comm_hooks", ())),
                    not getattr(ddp, "require_forward_param_sync", True),
                    bool(getattr(getattr(ddp, "_join_config", None), "enable", False)),
                )
        for root, module in roots.alive():
            if is_sharded(module) and any(id(parameter) in ids for parameter in module.parameters()):
                meshes: list[Any] = [getattr(parameter, "device_mesh", None) for parameter in parameters]
                # Shards over two dimensions are of other kinds of parallelism too.
                plain = all(mesh is not None and mesh.ndim == 1 for mesh in meshes)
                ranks = max((int(mesh.size()) for mesh in meshes), default=0) if plain else 0
                return GradientAverage("FSDP", root.name, Place(), ranks)
        return self._by_hand(parameters, collectives)

    def _by_hand(self, parameters: Sequence[torch.Tensor], collectives: Collectives) -> GradientAverage | None:
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        if not gradients or collectives.reduced is None:
            return None
        added_up = sum(gradient.data_ptr() in collectives.reduced for gradient in gradients)
        flat = sum(gradient.numel() for gradient in gradients) in collectives.reduced_sizes
        if flat or added_up >= self.MOST_OF * len(gradients):
            return GradientAverage("by hand", ranks=torch.distributed.get_world_size())
        return None
