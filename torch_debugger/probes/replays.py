"""Running a forward once more after a crash: when that is wise, on copies of its inputs."""

from __future__ import annotations

from typing import Any

from torch import nn

from torch_debugger.anatomy.alone import has_fellows, is_shared
from torch_debugger.anatomy.kinds import is_one_of
from torch_debugger.probes.crash_frames import is_tensor

TIME_LIMIT_S = 0.6
_PARAMETER_LIMIT, _INPUT_LIMIT, _MODULE_LIMIT = 100_000_000, 20_000_000, 3000


class TooLong(BaseException):
    """Ends a replay; no `except Exception` in the user's forward may keep it going."""


def is_small(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """A model that is small, not compiled and not one of several ranks', on a batch that is no giant."""
    modules = list(module.modules())
    if has_fellows() or any(map(is_shared, modules)):
        return False
    if len(modules) > _MODULE_LIMIT or any("_orig_mod" in vars(part)["_modules"] for part in modules):
        return False
    weights = sum(parameter.numel() for parameter in module.parameters())
    given = sum(value.numel() for value in (*args, *kwargs.values()) if is_tensor(value))
    return bool(weights <= _PARAMETER_LIMIT and given <= _INPUT_LIMIT)


def copied(value: Any) -> Any:
    """Tensors cloned, so that an in-place op of the replay does not reach the user's batch; graphs are kept."""
    if is_tensor(value):
        return value.clone()
    if is_one_of(value, (list, tuple)):
        return type(value)(copied(item) for item in value)
    if type(value) is dict:
        return {key: copied(item) for key, item in value.items()}
    return value
