"""Hooks on module calls, on only while a breakpoint wants them.

They are torch's global ones: nothing hangs on the user's modules, so that their pickles and copies
stay as they are. A module that no breakpoint is about costs a look into a dictionary.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as module_hooks
from torch.utils.hooks import RemovableHandle

from torch_debugger.anatomy.frames import call_frame, locals_of
from torch_debugger.breakpoints.asking import Asker
from torch_debugger.breakpoints.breakpoint import Breakpoint
from torch_debugger.breakpoints.calls import Call, Calls
from torch_debugger.breakpoints.forward_frames import ForwardFrames
from torch_debugger.breakpoints.gradients import follow_gradients
from torch_debugger.breakpoints.moments import Moment
from torch_debugger.breakpoints.paths import Known, Paths
from torch_debugger.breakpoints.scenes import Scene, given
from torch_debugger.breakpoints.user_frames import nearest_user_frame

MakeScene = Callable[..., Scene]


class ModuleCalls:
    def __init__(self, asker: Asker, scene: MakeScene) -> None:
        self.paths = Paths()
        self._asker = asker
        self._scene = scene
        self._posts: tuple[Breakpoint, ...] = ()
        self._handles: list[RemovableHandle] = []
        self._calls = Calls()
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
        known = self._known(module)
        call = Call(module, known.path, self._about(known, module))
        stack.append(call)
        if (call.posts or outermost) and self._asker.is_awake():
            self._begin(call, arguments, outermost)

    def _known(self, module: nn.Module) -> Known:
        return self.paths.of(module) or self.paths.meet(module, sys._getframe(2))

    def _about(self, known: Known, module: nn.Module) -> tuple[Breakpoint, ...]:
        if known.posts is None:
            among = (post for post in self._posts if post.moment is not Moment.STEP)
            known.posts = tuple(post for post in among if post.is_about(module, known.path))
        return known.posts

    def _begin(self, call: Call, arguments: Any, outermost: bool) -> None:
        frame = call_frame(sys._getframe(2))
        call.input = given(arguments, locals_of(frame)["kwargs"] if frame is not None else {})
        if outermost:
            self._ask(call, Moment.STEP, nearest_user_frame)
        moments = {post.moment for post in call.posts}
        if not (moments & {Moment.CALL, Moment.RETURN} and self._frames.expect(call)):
            self._ask(call, Moment.CALL, nearest_user_frame)

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

    def _begun(self, call: Call, frame: FrameType) -> None:
        self._ask(call, Moment.CALL, lambda: frame)

    def _done(self, call: Call, frame: FrameType, output: Any) -> None:
        if output is not None:
            call.asked = True
            self._ask(call, Moment.RETURN, lambda: frame, output=output)

    def _returned(self, call: Call, output: Any) -> None:
        if call.code is not None and not call.seen:  # its forward was replaced on the way
            self._ask(call, Moment.CALL, nearest_user_frame)
        if not call.asked:
            self._ask(call, Moment.RETURN, nearest_user_frame, output=output)
        waiting = [post for post in call.posts if post.moment is Moment.GRADIENT and not post.removed]
        if waiting and self._asker.is_awake():
            follow_gradients(call, output, waiting, self._asker, self._scene)

    def _ask(self, call: Call, moment: Moment, find_frame: Callable[[], FrameType], **tensors: Any) -> None:
        posts = call.posts if moment is not Moment.STEP else self._posts
        asked = [post for post in posts if post.moment is moment]
        if asked and not _in_backward():  # a checkpointed block runs once more: it has been asked
            scene = self._scene(module=call.module, path=call.path, tensors={"input": call.input, **tensors})
            for post in asked:
                self._asker.ask(post, scene, find_frame)


def _in_backward() -> bool:
    return torch._C._current_graph_task_id() != -1
