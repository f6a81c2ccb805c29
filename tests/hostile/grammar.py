"""A program is a model, a loop and some pieces. Here: what a piece is, how programs are drawn, and how the text
of one is put together."""

from __future__ import annotations

import random
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Link:
    """A symbolic link in the program's folder."""

    target: str


Files = Mapping[str, "str | bytes | Link"]


@dataclass(frozen=True)
class Piece:
    """Parts of a program's text, in the order in which they stand there, and what surrounds the program."""

    name: str
    takes: tuple[str, ...] = ()  # what only one piece of a program may have for itself
    head: str = ""  # the first line
    top: str = ""  # before torch is imported
    setup: str = ""  # torch is there, the model is not
    body: str = ""  # of a model: `model`, `parameters`; of a loop: `def train()`
    ready: str = ""  # model and loop are there
    wrap: str = ""  # a `with` line around the training
    step: str = ""  # at the end of each step
    after: str = ""  # the training is done
    last: str = ""  # the witness has told of the end
    places: tuple[str, str] | None = None  # an odd object: its expression, and what is printed of it at the end
    guarded: bool = False  # needs `if __name__ == "__main__"`
    launch: str = "script"
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    stdin: str | None = None
    files: Files = field(default_factory=dict)


@dataclass(frozen=True)
class Program:
    names: tuple[str, ...]  # model, loop, pieces
    seed: str
    text: str
    files: Files  # of its folder
    command: tuple[str, ...]  # what stands after `python`
    environment: Mapping[str, str]
    stdin: str | None


HEAD = """
import builtins
import os
import random
import sys
import time

import witness
"""
SEEDS = """
import numpy
import torch
import torch.nn.functional as F
from torch import nn

random.seed(3)
numpy.random.seed(4)
torch.manual_seed(5)
"""
BATCH = """
def make_batch():
    x = torch.randn(8, 6)
    return x, x.sum(1, keepdim=True)
"""
LOSS = """
def loss_of(batch):
    x, y = batch
    return F.mse_loss(model(x), y)
"""
OPTIMIZERS = "optimizers = []"
END = """
print("trained", sum(float(parameter.detach().abs().sum()) for parameter in parameters))
witness.tell("end")
"""
# Where an odd object is put: a global, a local of the loop, a part of the model or of the batch.
PLACES = ("global", "local", "attribute", "listed", "batch")


def text_of(pieces: tuple[Piece, ...], seed: str) -> str:
    """The program: readable Python, as somebody might have written it."""
    model, loop = pieces[0], pieces[1]
    others = [_placed(piece, seed) for piece in pieces[2:]]
    everything = [model, loop, *others]

    def of(part: str) -> list[str]:
        return [_flat(getattr(piece, part)) for piece in everything if getattr(piece, part)]

    steps = "\n".join(of("step"))
    body = [_flat(SEEDS), *of("setup"), OPTIMIZERS]
    body += [
        _flat(text) for name, text in (("make_batch", BATCH), ("loss_of", LOSS)) if f"def {name}(" not in model.body
    ]
    body += [_flat(model.body), _with_steps(_flat(loop.body), steps)]
    body += ["witness.watch(parameters, optimizers)", *of("ready"), _wrapped(of("wrap"))]
    body += [*of("after"), _flat(END), *of("last")]
    main = "\n\n".join(body)
    if any(piece.guarded for piece in everything):
        main = 'if __name__ == "__main__":\n' + textwrap.indent(main, "    ")
    return "\n\n".join(["".join(of("head")) + HEAD, *of("top"), main]) + "\n"


def _placed(piece: Piece, seed: str) -> Piece:
    """An odd object, put where the program's seed says."""
    if piece.places is None:
        return piece
    expression, told = piece.places
    name, place = f"odd_{piece.name}", random.Random(f"{seed} {piece.name}").choice(PLACES)
    made = {
        "global": {"ready": f"{name} = {expression}"},
        "local": {"step": f"{name} = {expression}"},
        "attribute": {"ready": f"if isinstance(model, nn.Module):\n    model.__dict__['odd'] = {expression}"},
        "listed": {"step": f"{name} = [1, {{'it': {expression}}}, (2, 3)]"},
        "batch": {"ready": f"plain_batch_{piece.name} = make_batch\n"
                  f"class Batch_{piece.name}(tuple):\n    pass\n"
                  f"def make_batch():\n    batch = Batch_{piece.name}(plain_batch_{piece.name}())\n"
                  f"    batch.extra = {expression}\n    return batch"},
    }[place]  # fmt: skip
    ready, step = _flat(piece.ready), _flat(piece.step)
    ready += "\n" + made.get("ready", "")
    step += "\n" + made.get("step", "")
    after = _flat(piece.after) + (f"\nprint({told})" if told else "")
    changed = {**vars(piece), "ready": ready, "step": step.strip("\n"), "after": after, "places": None}
    return Piece(**changed)


def _flat(text: str) -> str:
    return textwrap.dedent(text).strip("\n")


def _with_steps(loop: str, steps: str) -> str:
    lines = []
    for line in loop.splitlines():
        if line.strip() == "STEP":
            indent = line[: len(line) - len(line.lstrip())]
            lines.append(textwrap.indent(steps or "pass", indent))
        else:
            lines.append(line)
    return "\n".join(lines)


def _wrapped(wraps: list[str]) -> str:
    text = "train()"
    for wrap in wraps:
        text = f"{wrap}\n{textwrap.indent(text, '    ')}"
    return text


class Deck:
    """Deals its cards in a random order, all of them before one comes again."""

    def __init__(self, cards: list[Piece], draw: random.Random) -> None:
        self._cards, self._draw, self._left = cards, draw, list[Piece]()

    def deal(self, taken: set[str]) -> Piece:
        for _ in range(2):
            for place, card in enumerate(self._left):
                if not taken & set(card.takes):
                    return self._left.pop(place)
            shuffled = list(self._cards)
            self._draw.shuffle(shuffled)
            self._left += shuffled
        raise ValueError(f"no piece goes with {sorted(taken)}")


def draws(models: list[Piece], loops: list[Piece], others: list[Piece], seed: int) -> Iterator[tuple[Piece, ...]]:
    """Without end: which pieces make the first program, the second, ..."""
    draw = random.Random(seed)
    decks = Deck(models, draw), Deck(loops, draw), Deck(others, draw)
    while True:
        drawn = [decks[0].deal(set()), decks[1].deal(set())]
        for _ in range(draw.choice((1, 2, 2, 3, 3, 4))):
            drawn.append(decks[2].deal({name for piece in drawn for name in piece.takes}))
        yield tuple(drawn)
