"""What makes the gradients of all ranks one: DistributedDataParallel, FSDP, or lines of the user's."""

from __future__ import annotations

import re
from collections.abc import MutableMapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import register_module_module_registration_hook
from torch.nn.parallel import DistributedDataParallel
from torch.utils.hooks import RemovableHandle

from torch_debugger.anatomy.alone import is_sharded
from torch_debugger.anatomy.frames import place_of, user_frame
from torch_debugger.probes.collectives import Collectives
from torch_debugger.probes.roots import Roots
from torch_debugger.probes.watch import Watch
from torch_debugger.records import GradientAverage, Place
from torch_debugger.stats.weak_keys import WeakKeysById

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
        self, parameters: Sequence[torch.Tensor], roots: Roots, collectives: Collectives
    ) -> GradientAverage | None:
        """What averages the gradients of these parameters, where anything is known to."""
        held = {id(parameter) for parameter in parameters}
        for wrapper, made in self._wrappers.items():
            if any(id(parameter) in held for parameter in wrapper.parameters()):
                return _as_average(wrapper, made, roots)
        for root, module in roots.alive():
            if is_sharded(module) and any(id(parameter) in held for parameter in module.parameters()):
                return GradientAverage("FSDP", root.name, Place(), _ranks_of_shards(parameters))
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


def _as_average(wrapper: Any, made: Place, roots: Roots) -> GradientAverage:
    root = roots.of(wrapper)
    target = _TARGET.match(made.code or "")
    return GradientAverage(
        "DistributedDataParallel",
        root.name if root is not None else target.group(1) if target else "",
        made,
        torch.distributed.get_world_size(wrapper.process_group),
        bool(getattr(wrapper, "_comm_hooks", ())),
        not getattr(wrapper, "require_forward_param_sync", True),
        bool(getattr(getattr(wrapper, "_join_config", None), "enable", False)),
    )


def _ranks_of_shards(parameters: Sequence[torch.Tensor]) -> int:
    """0 where it is not plain: shards over two dimensions are of other kinds of parallelism too."""
    meshes = [getattr(parameter, "device_mesh", None) for parameter in parameters]
    if any(mesh is None or mesh.ndim != 1 for mesh in meshes):
        return 0
    return max((int(mesh.size()) for mesh in meshes if mesh is not None), default=0)
