"""All pieces by their names, and programs made of them."""

from __future__ import annotations

from itertools import islice

from tests.hostile.files import FILES
from tests.hostile.grammar import Files, Piece, Program, draws, text_of
from tests.hostile.launches import LAUNCHES
from tests.hostile.loops import LOOPS
from tests.hostile.models import MODELS
from tests.hostile.objects import OBJECTS
from tests.hostile.processes import PROCESSES
from tests.hostile.settings import SETTINGS
from tests.hostile.signals import SIGNALS
from tests.hostile.threads import THREADS

OTHERS = [*THREADS, *OBJECTS, *SIGNALS, *PROCESSES, *FILES, *SETTINGS]
PLAINEST = (MODELS[0], LOOPS[0])


def programs(count: int, seed: int) -> list[Program]:
    drawn = islice(draws(MODELS, LOOPS, OTHERS, seed), count)
    return [make(pieces, f"{seed}/{number}") for number, pieces in enumerate(drawn)]


def named(names: str, seed: str = "0") -> Program:
    """The program of these pieces, joined by +; without a model or a loop among them, the plainest ones."""
    wanted = [_piece(name) for name in names.split("+")]
    model = next((piece for piece in wanted if piece in MODELS), PLAINEST[0])
    loop = next((piece for piece in wanted if piece in LOOPS), PLAINEST[1])
    return make((model, loop, *(piece for piece in wanted if piece in OTHERS)), seed)


def _piece(name: str) -> Piece:
    for piece in (*MODELS, *LOOPS, *OTHERS):
        if piece.name == name:
            return piece
    raise SystemExit(f"no piece is called {name!r}")


def make(pieces: tuple[Piece, ...], seed: str) -> Program:
    text = text_of(pieces, seed)
    launch = next((piece.launch for piece in pieces if piece.launch != "script"), "script")
    files, command = LAUNCHES[launch](text)
    beside: Files = {name: content for piece in pieces for name, content in piece.files.items()}
    return Program(
        names=tuple(piece.name for piece in pieces),
        seed=seed,
        text=text,
        files={**beside, **files},
        command=(*command, *(argument for piece in pieces for argument in piece.arguments)),
        environment={name: value for piece in pieces for name, value in piece.environment.items()},
        stdin=next((piece.stdin for piece in pieces if piece.stdin is not None), None),
    )
