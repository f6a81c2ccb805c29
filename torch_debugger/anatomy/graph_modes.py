"""Every operation of a running model, told to a recorder in the user's own words: relu, cat, getitem."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from torch_debugger.anatomy.graph_recorder import Recorder
from torch_debugger.anatomy.graph_undoing import Undoing
from torch_debugger.anatomy.kinds import is_one_of
from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.errors import DebuggerError

# Where numbers leave the graph for Python: an `if`, a print, a loop that runs so many times.
_LEAVING = frozenset({"item", "tolist", "numpy", "bool", "int", "float", "index", "complex"})
_LONGEST_DETAIL = 120
_BETWEEN_PROCESSES = ("c10d", "_c10d_functional")
_SET_DATA = vars(torch._C.TensorBase)["data"].__set__


@contextlib.contextmanager
def operations_told(recorder: Recorder, scope: Callable[[], str]) -> Iterator[None]:
    undoing = Undoing()
    told = _Told(recorder, scope, undoing)
    try:
        with _Below(told, undoing), told:
            yield
    finally:
        undoing.undo()


class _Told(TorchFunctionMode):
    """Functions as they are called. What they call in turn is not told."""

    def __init__(self, recorder: Recorder, scope: Callable[[], str], undoing: Undoing) -> None:
        super().__init__()
        self._recorder = recorder
        self._scope = scope
        self._undoing = undoing

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func == _SET_DATA:
            return self._replace(*args)
        return self.call(func, args, kwargs or {})

    def _replace(self, tensor: torch.Tensor, data: torch.Tensor) -> None:
        with self._recorder.deaf():
            self._undoing.before_replacing(tensor)
            tensor.data = data
            self._recorder.replace(tensor, data, self._scope())

    def call(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with self._recorder.deaf() as already:
            if already:
                return func(*args, **kwargs)
            given = list(tensors_in((args, kwargs)))
            versions = [_version(tensor) for tensor in given]
            result = func(*args, **kwargs)
            written = [
                tensor for tensor, version in zip(given, versions, strict=True) if _version(tensor) != version
            ]
            if not written and any(result is tensor for tensor in given):
                if type(result) is not torch.Tensor or _is_method(func):
                    return result  # x.float() of floats: nothing happened
                result = result.view_as(result)  # dropout in evaluation: what it gave and was given stay apart
            self._tell(_name(func), given, list(tensors_in(result)), written, _detail(args, kwargs))
            return result

    def _tell(
        self,
        name: str,
        given: list[torch.Tensor],
        made: list[torch.Tensor],
        written: list[torch.Tensor],
        detail: str,
    ) -> None:
        if made or written or name in _LEAVING:
            self._recorder.operation(name, self._scope(), given, made, written, detail=detail)


class _Below(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Tells of what no function call showed: operations of scripted functions and of extensions."""

    supports_higher_order_operators = True  # torch.cond, flex_attention: told as one operation each

    def __init__(self, told: _Told, undoing: Undoing) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._told = told
        self._undoing = undoing

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # nothing is compiled in here, and importing torch._dynamo takes two seconds

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "namespace", "") in _BETWEEN_PROCESSES:
            raise DebuggerError("forward waits for other processes, and only this one is asked.")
        self._undoing.before_write(func, args, kwargs)
        result = self._told.call(func, args, kwargs)
        self._undoing.after((args, kwargs), result)
        return result


def _name(func: Any) -> str:
    """relu, add_, getitem; T for the property"""
    name = getattr(func, "__name__", type(func).__name__)
    if name in ("__get__", "__set__"):
        return str(getattr(getattr(func, "__self__", None), "__name__", name))
    if isinstance(func, torch._ops.OpOverload):
        return str(func.overloadpacket.__name__)
    return str(name).strip("_") if name.startswith("__") else str(name)


def _is_method(func: Any) -> bool:
    return getattr(torch.Tensor, getattr(func, "__name__", ""), None) is func


def _version(tensor: torch.Tensor) -> int:
    return -1 if tensor.is_inference() else tensor._version


def _detail(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    plain = [_plain(value) for value in args]
    named = [f"{key}={_plain(value)}" for key, value in kwargs.items() if _plain(value)]
    return ", ".join([value for value in plain if value] + named)[:_LONGEST_DETAIL]


def _plain(value: Any) -> str:
    """Numbers, words and tuples of them; no code of the user's runs for it."""
    if is_one_of(value, (int, float, bool, str)):
        return repr(value)
    if is_one_of(value, (torch.dtype, torch.device)):
        return str(value).removeprefix("torch.")
    if type(value) is slice:
        ends = [_plain(end) for end in (value.start, value.stop, value.step)]
        return ":".join(ends).removesuffix(":") or ":"
    if is_one_of(value, (tuple, list, torch.Size)) and value and len(value) < 9:
        parts = [_plain(item) for item in value]
        return f"[{', '.join(parts)}]" if all(parts) else ""
    return ""
