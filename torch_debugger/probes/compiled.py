"""torch.compile: what is compiled, and that nothing of ours is compiled with it.

Hooks that dynamo meets while it traces are compiled in, and taking them off compiles again. So
from the first torch.compile on no module call is hooked any more.
"""

from __future__ import annotations

import inspect
import os
import sys
from types import CodeType
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

_PACKAGE = __name__.partition(".")[0]
_WRITTEN = (os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep, "<string>")  # by dataclasses


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
            _skip_our_code()
            self.watch.on_step.append(Compilations(self.watch).step_done)
            self.watch.notice(
                "torch.compile is in use: layers inside compiled regions are not looked into; "
                "loss, gradients, weights and updates are."
            )


def _skip_our_code() -> None:
    """Dynamo compiles what a compiled function calls between its graphs, and in a whole training step that is
    us as well."""
    from torch._dynamo.eval_frame import skip_code

    for code in _codes_of_ours():
        skip_code(code)


def _codes_of_ours() -> set[CodeType]:
    modules = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] == _PACKAGE]
    waiting: list[Any] = [value for module in modules for value in vars(module).values()]
    kinds = [kind for kind in waiting if isinstance(kind, type) and kind.__module__.startswith(_PACKAGE)]
    waiting += [entry for kind in kinds for entry in vars(kind).values()]
    found: set[CodeType] = set()
    while waiting:
        entry = inspect.unwrap(waiting.pop(), stop=lambda each: not callable(each))
        entry = getattr(entry, "__func__", getattr(entry, "fget", entry))
        code = entry if isinstance(entry, CodeType) else getattr(entry, "__code__", None)
        if isinstance(code, CodeType) and code not in found and code.co_filename.startswith(_WRITTEN):
            found.add(code)
            waiting += code.co_consts
    return found
