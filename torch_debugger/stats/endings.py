"""How rows of tokens end: in a run of one token, as padding does?"""

from __future__ import annotations

from typing import Any

import torch


def measure_ends(rows: torch.Tensor, weight: Any = None) -> torch.Tensor:
    """[the token that ends most rows, share of rows with two of it or more at the end, share of all tokens in
    such ends, share of the token's places elsewhere, shortest and longest end, the token's weight]"""
    last = rows[:, -1].mode().values
    same = rows == last
    places = torch.arange(1, rows.shape[1] + 1, device=rows.device)
    tails = rows.shape[1] - (~same * places).amax(1)  # up to the last token that is another one
    ended = tails >= 2
    inside = (tails * ended).sum()
    given = torch.ones((), device=rows.device)
    if isinstance(weight, torch.Tensor):
        given = weight.detach().float()[last.clamp(0, len(weight) - 1)]
    found = (
        last,
        ended.float().mean(),
        inside / rows.numel(),
        1 - inside / same.sum(),
        tails.min(),
        tails.max(),
        given,
    )
    return torch.stack([number.float() for number in found])
