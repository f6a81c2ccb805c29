"""Hooks on module calls, on only while a breakpoint wants them.

They are torch's global ones: nothing hangs on the user's modules, so that their pickles and copies
stay as they are. A module that no breakpoint is about costs a look into a dictionary.
"""

from __future__ import annotations

import inspect
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as module_hooks
from torch.utils.hooks import RemovableHandle

from torch_debugger.model.hooks import in_backward
from torch_debugger.model.nested_tensors import tensors_in
from torch_debugger.probes.breakpoints_answers import Asker, ConditionNames, call_input
from torch_debugger.probes.breakpoints_stops import Breakpoint, StopMoment
from torch_debugger.source.files import is_user_file
from torch_debugger.source.frames import call_frame, is_ours, locals_of, user_frame
from torch_debugger.source.variables import name_root

MakeNames = Callable[..., ConditionNames]


class WatchedModuleCalls:
    def __init__(self, asker: Asker, make_names: MakeNames) -> None:
        self.paths = Paths()
        self._asker = asker
        self._make_names = make_names
        self._posts: tuple[Breakpoint, ...] = ()
        self._handles: list[RemovableHandle] = []
        self._calls = CallStack()
        self._frames = ForwardFrames(self._calls, self._begun, self._done)

    def want(self, posts: tuple[Breakpoint, ...]) -> None:
        """These breakpoints are asked from now on; without any, the hooks go off."""
        self._posts = posts
        self.paths.forget_posts()
        if posts and not self._handles:
            self._handles = [
                module_hooks.register_module_forward_pre_hook(self._before),
                module_hooks.register_module_forward_hook(self._after, with_kwargs=True, always_call=True),
            ]
        elif not posts:
            self._hooks_off()

    def _hooks_off(self) -> None:
        for handle in self._handles:
            handle.remove()
            module_hooks._global_forward_hooks_with_kwargs.pop(handle.id, None)  # torch forgets to
        self._handles = []
        self._calls.stack.clear()
        self._frames.ended()

    def _before(self, module: nn.Module, arguments: Any) -> None:
        if torch.compiler.is_compiling() or torch._C._get_tracing_state():
            return
        stack = self._calls.stack
        if stack and stack[0].module is module:
            stack.clear()  # calls that ended by Ctrl-C, which the user caught
        outermost = not stack
        known = self.paths.of(module) or self.paths.meet(module, sys._getframe(1))
        if known.posts is None:
            among = (post for post in self._posts if post.moment is not StopMoment.STEP)
            known.posts = tuple(post for post in among if post.is_about(module, known.path))
        call = ModuleCall(module, known.path, known.posts)
        stack.append(call)
        if (call.posts or outermost) and self._asker.is_awake():
            self._begin(call, arguments, outermost)

    def _begin(self, call: ModuleCall, arguments: Any, outermost: bool) -> None:
        frame = call_frame(sys._getframe(2))
        call.input = call_input(arguments, locals_of(frame)["kwargs"] if frame is not None else {})
        if outermost:
            self._ask(call, StopMoment.STEP, nearest_user_frame)
        moments = {post.moment for post in call.posts}
        if not (moments & {StopMoment.CALL, StopMoment.RETURN} and self._frames.expect(call)):
            self._ask(call, StopMoment.CALL, nearest_user_frame)

    def _after(self, module: nn.Module, arguments: Any, *rest: Any) -> None:
        """`rest` is (keywords, output), or after an exception the output alone."""
        stack = self._calls.stack
        while stack and stack[-1].module is not module:
            stack.pop()  # as above
        if stack:
            call = stack.pop()
            self._frames.ended()
            if call.posts and rest[-1] is not None:
                self._returned(call, rest[-1])

    def _begun(self, call: ModuleCall, frame: FrameType) -> None:
        self._ask(call, StopMoment.CALL, lambda: frame)

    def _done(self, call: ModuleCall, frame: FrameType, output: Any) -> None:
        if output is not None:
            call.asked = True
            self._ask(call, StopMoment.RETURN, lambda: frame, output=output)

    def _returned(self, call: ModuleCall, output: Any) -> None:
        if call.code is not None and not call.seen:  # its forward was replaced on the way
            self._ask(call, StopMoment.CALL, nearest_user_frame)
        if not call.asked:
            self._ask(call, StopMoment.RETURN, nearest_user_frame, output=output)
        waiting = [post for post in call.posts if post.moment is StopMoment.GRADIENT and not post.removed]
        if waiting and self._asker.is_awake():
            follow_gradients(call, output, waiting, self._asker, self._make_names)

    def _ask(self, call: ModuleCall, moment: StopMoment, find_frame: Callable[[], FrameType], **tensors: Any) -> None:
        posts = call.posts if moment is not StopMoment.STEP else self._posts
        matching = [post for post in posts if post.moment is moment]
        if matching and not in_backward():  # a checkpointed block runs once more: it has been asked
            names = self._make_names(module=call.module, path=call.path, tensors={"input": call.input, **tensors})
            for post in matching:
                self._asker.ask(post, names, find_frame)


# The frames of forwards that the user wrote, while they are alive: at their first line and at their return.
#
# A hook runs when `forward` has not begun or is over, and its variables are gone. A trace function sees its frame. It
# is on only inside the modules that a breakpoint is about, hears of calls and not of lines, and gives way to a
# debugger or coverage tool that traces already.
class ForwardFrames:
    def __init__(
        self,
        calls: CallStack,
        begun: Callable[[ModuleCall, FrameType], None],
        done: Callable[[ModuleCall, FrameType, Any], None],
    ) -> None:
        self._calls = calls
        self._begun = begun
        self._done = done

    def expect(self, call: ModuleCall) -> bool:
        """Whether the call's forward will be seen."""
        tracer = sys.gettrace()
        if tracer is not None and tracer != self._trace:
            return False
        forward = inspect.unwrap(call.module.forward)
        code = getattr(getattr(forward, "__func__", forward), "__code__", None)
        if not isinstance(code, CodeType) or not is_user_file(code.co_filename):
            return False
        call.code = code
        sys.settrace(self._trace)
        return True

    def ended(self) -> None:
        """A call is over: without an outer one to see, the trace goes off."""
        if sys.gettrace() == self._trace and not any(call.code for call in self._calls.stack):
            sys.settrace(None)

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        stack = self._calls.stack
        if not stack or stack[-1].code is not frame.f_code or stack[-1].seen:
            return None
        call = stack[-1]
        call.seen = True
        frame.f_trace_lines = False
        self._begun(call, frame)
        if sys.gettrace() != self._trace:
            return frame.f_trace  # the user steps on from the prompt

        def hear(frame: FrameType, event: str, argument: Any) -> None:
            if event == "return":
                self._done(call, frame, argument)

        return hear


# Gradients of module outputs, by a pre-hook on the output's autograd node.
#
# Never by full backward hooks: they break models with in-place modules.
def follow_gradients(
    call: ModuleCall, output: Any, posts: Sequence[Breakpoint], asker: Asker, make_names: Callable[..., ConditionNames]
) -> None:
    """Each tensor of the output is asked about when its own gradient arrives."""
    names = frozenset().union(*(post.condition.names for post in posts))
    recall_input = _remember(call.input, "input" in names)
    for tensor in tensors_in(output):
        if tensor.grad_fn is not None:
            recall = {"input": recall_input, "output": _remember(tensor, "output" in names)}
            _hook(tensor, call, posts, recall, asker, make_names)


def _hook(
    tensor: torch.Tensor,
    call: ModuleCall,
    posts: Sequence[Breakpoint],
    recall: dict[str, Callable[[], Any]],
    asker: Asker,
    make_names: Callable[..., ConditionNames],
) -> None:
    index, module, path = tensor.output_nr, call.module, call.path

    def arrived(gradients: tuple[torch.Tensor | None, ...]) -> None:
        if gradients[index] is None or all(post.removed for post in posts):
            return
        tensors = {**{name: read() for name, read in recall.items()}, "grad": gradients[index]}
        names = make_names(module=module, path=path, tensors=tensors)
        for post in posts:
            asker.ask(post, names, nearest_user_frame)

    assert tensor.grad_fn is not None
    tensor.grad_fn.register_prehook(arrived)


def _remember(value: Any, needed: bool) -> Callable[[], Any]:
    """Until the backward: cut off its graph where the condition names it, else only if others keep it."""
    found = list(tensors_in(value))
    if needed:
        kept = tuple(tensor.detach() for tensor in found)
        return lambda: kept[0] if len(kept) == 1 else kept or None
    references = [weakref.ref(tensor) for tensor in found]
    return lambda: references[0]() if len(references) == 1 else None


# The paths of the modules that are called, under the user's own names; nothing is kept alive for it.
@dataclass(slots=True)
class KnownModule:
    module: weakref.ref[nn.Module]
    path: str
    posts: tuple[Breakpoint, ...] | None = None  # None: not yet looked up


class Paths:
    """By id and reference: a user's module may be equal to others, or have no hash."""

    def __init__(self) -> None:
        self._known: dict[int, KnownModule] = {}

    def of(self, module: nn.Module) -> KnownModule | None:
        known = self._known.get(id(module))
        return known if known is not None and known.module() is module else None

    def meet(self, root: nn.Module, frame: FrameType | None) -> KnownModule:
        """A module called from outside all that is known: it and its parts get their paths."""
        self._known = {key: known for key, known in self._known.items() if known.module() is not None}
        name = name_root(root, frame)
        for path, module in root.named_modules():
            if self.of(module) is None:
                self._known[id(module)] = KnownModule(weakref.ref(module), f"{name}.{path}" if path else name)
        return self._known[id(root)]

    def forget_posts(self) -> None:
        """Breakpoints were set or removed."""
        for known in self._known.values():
            known.posts = None

    def all(self) -> Sequence[str]:
        return [known.path for known in self._known.values() if known.module() is not None]


# The module calls under way, as the hooks see them begin and end.
@dataclass(slots=True)
class ModuleCall:
    module: nn.Module
    path: str
    posts: tuple[Breakpoint, ...]  # that are about this module
    input: Any = None
    code: CodeType | None = None  # of its forward, if that is the user's and will be seen
    seen: bool = False  # its frame has begun
    asked: bool = False  # at its return


class CallStack(threading.local):
    """Of one thread, outermost first."""

    def __init__(self) -> None:
        self.stack: list[ModuleCall] = []


# The frame to stop in when a module's own forward is none of the user's: theirs that called it.
def nearest_user_frame() -> FrameType:
    """Of this thread; a gradient on an accelerator comes in a thread of autograd's, then of the main one."""
    found = user_frame(2)
    if found is None:
        found = sys._current_frames().get(threading.main_thread().ident or 0)
        while found is not None and not is_user_file(found.f_code.co_filename):
            found = found.f_back
    if found is not None:
        return found
    # Code without a file (`python -c`): the outermost frame that is not ours.
    frame = outermost = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        outermost = outermost if is_ours(frame) else frame
    return outermost
