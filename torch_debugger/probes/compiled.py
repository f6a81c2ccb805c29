"""torch.compile: what is compiled, and that nothing of ours is compiled with it.

Hooks that dynamo meets while it traces are compiled in, and taking them off compiles again. So
from the first torch.compile on no module call is hooked any more.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.compiling import something_is_compiled
from torch_debugger.probes.compilations import Compilations
from torch_debugger.probes.forward import Forward
from torch_debugger.probes.patches import Patches
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.roots import Roots
from torch_debugger.probes.watch import Watch
from torch_debugger.tracebacks import hidden_in_tracebacks


class Compiled(Probe):
    name = "compile"

    def __init__(self, watch: Watch, roots: Roots, forward: Forward) -> None:
        super().__init__(watch)
        self.roots = roots
        self.forward = forward

    def install(self, patches: Patches) -> None:
        patches.replace(torch, "compile", self._around_compile)
        if something_is_compiled():
            self._step_aside()

    def _around_compile(self, original: Any) -> Any:
        def compile(*arguments: Any, **keywords: Any) -> Any:
            self.watch.probe(self.name, self._meet, arguments)
            with hidden_in_tracebacks:
                return original(*arguments, **keywords)

        compile.__wrapped__ = original  # type: ignore[attr-defined]
        compile.__doc__ = original.__doc__
        return compile

    def _meet(self, arguments: tuple[Any, ...]) -> None:
        self._step_aside()
        for value in arguments[:1]:
            owner = getattr(value, "__self__", None)
            if isinstance(value, nn.Module):
                self.roots.meet_compiled(value)
            elif isinstance(owner, torch.optim.Optimizer):
                self.watch.clock.gone(id(owner))  # its steps will not be heard; backward passes are counted

    def _step_aside(self) -> None:
        if not self.forward.paused:
            self.forward.pause()
            self.roots.open_gates()
            self.watch.on_step.append(Compilations(self.watch).step_done)
            self.watch.notice(
                "torch.compile is in use: layers inside compiled regions are not looked into; "
                "loss, gradients, weights and updates are."
            )
