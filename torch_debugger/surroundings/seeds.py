"""Which seed a generator began with, told from its state. No random number of the program's is drawn.

torch remembers its seed. Python's and numpy's generators do not, but what a seed makes of a fresh one can be
compared: with the seeds the program is known to have used, for the first thousands of numbers.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from torch_debugger.records import HparamsFact

_WORDS = 624  # of a Mersenne twister; drawn up, all of them change at once
_TELL = 8  # as many words tell two states apart
_TURNS = 6
_MOST_SEEDS = 4
_UNSEEDED = 67280421310721  # what torch begins with when nobody seeds it


def find_seeds(torch_seed: int, hparams: Iterable[HparamsFact]) -> dict[str, int]:
    seeds = {"torch": torch_seed} if torch_seed != _UNSEEDED else {}
    candidates = _candidates(torch_seed, hparams)
    python = _first_fit(random.getstate()[1][:_TELL], {seed: _python(seed) for seed in candidates})
    seeds |= {"python": python} if python is not None else {}
    numpy = sys.modules.get("numpy")
    state = _numpy_state(numpy) if numpy is not None else None
    if numpy is not None and state is not None:
        found = _first_fit(state, {seed: _numpy(numpy, seed) for seed in candidates if seed < 2**32})
        seeds |= {"numpy": found} if found is not None else {}
    return seeds


def _candidates(torch_seed: int, hparams: Iterable[HparamsFact]) -> list[int]:
    named = [value for fact in hparams for name, value in fact.values.items() if "seed" in name.lower()]
    numbers = [value for value in named if type(value) is int and value >= 0]
    known = [torch_seed] if torch_seed != _UNSEEDED else []
    return list(dict.fromkeys([*known, *numbers]))[:_MOST_SEEDS]


def _first_fit(state: tuple[int, ...], fresh: Mapping[int, Any]) -> int | None:
    """The seed whose generator passes through this state; each is asked for its state, then turned on."""
    for _ in range(_TURNS):
        for seed, (read, turn) in fresh.items():
            if read() == state:
                return seed
            turn()
    return None


def _python(seed: int) -> Any:
    generator = random.Random(seed)
    return lambda: generator.getstate()[1][:_TELL], lambda: generator.getrandbits(32 * _WORDS)


def _numpy(numpy: Any, seed: int) -> Any:
    generator = numpy.random.RandomState(seed)
    return lambda: _key(generator.get_state()), lambda: generator.bytes(4 * _WORDS)


def _numpy_state(numpy: Any) -> tuple[int, ...] | None:
    state = numpy.random.get_state()
    return _key(state) if state[0] == "MT19937" else None  # set_bit_generator: another kind


def _key(state: Any) -> tuple[int, ...]:
    return tuple(state[1][:_TELL].tolist())
