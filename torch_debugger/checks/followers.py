"""Copies of a model that are meant to follow it, told by what the user calls them."""

from __future__ import annotations

import re

from torch_debugger.records import CopyLook

# A word of the name, by dots, underscores and capitals: ema_model, ema.module, modelEMA, target_net, q_target
_WORDS = re.compile(
    r"(?:^|[_.])(?:ema|target|targ|averaged?|avg|swa|shadow|slow|polyak)(?:[_.]|\d|$)|Ema|EMA|Target|Averaged"
)


def is_follower(look: CopyLook) -> bool:
    return look.kind == "AveragedModel" or _WORDS.search(look.name) is not None
