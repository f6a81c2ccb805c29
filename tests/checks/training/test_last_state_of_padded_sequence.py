from __future__ import annotations

import dataclasses

from tests.fakes import judged, place
from torch_debugger.records import PaddedState

NAME = "last-state-of-padded-sequence"
CALL, TAKEN = place(36), place(37, code="last = states[:, -1]")


def look(step: int = 1, **others: object) -> PaddedState:
    """Tokens, most of them in short rows of a batch with one long row."""
    usual = PaddedState(
        "net.gru",
        "GRU",
        "last step",
        32,
        40,
        True,
        True,
        0.8,
        0.6,
        0.0,
        0,
        35,
        "lengths",
        True,
        CALL,
        TAKEN,
        step,
    )
    return dataclasses.replace(usual, **others)  # type: ignore[arg-type]


def looks(**others: object) -> list[PaddedState]:
    return [look(step, **others) for step in (1, 2, 3)]


def test_the_last_step_of_padded_rows() -> None:
    (finding,) = judged(looks(), NAME)
    assert finding.message == (
        "Of `net.gru` (GRU) only the last step of its output is used, and 80% of its sequences end in padding: "
        "60% of all steps it reads come after the end."
    )
    assert "`[torch.arange(len(lengths)), lengths - 1]` in place of the index -1" in finding.fix
    assert (finding.severity, finding.where.line, finding.first_step) == ("warning", 37, 1)


def test_the_final_state_of_padded_rows() -> None:
    (finding,) = judged(looks(used="final state", taken=CALL, batch_first=False, lengths=""), NAME)
    assert finding.fix == (
        "Give `net.gru` packed sequences: `pack_padded_sequence(x, lengths.cpu(), enforce_sorted=False)` "
        "(the lengths without padding); then its final state is that of each row."
    )


def test_little_padding_even_ends_and_one_look_are_silent() -> None:
    assert not judged(looks(ended=0.4), NAME)
    assert not judged(looks(in_tails=0.2), NAME)
    assert not judged(looks(shortest=10, longest=11), NAME)  # a silence of one length belongs to the task
    assert not judged(looks(elsewhere=0.3), NAME)
    assert not judged([look()], NAME)
    assert not judged([*looks(in_tails=0.0), look(4), look(5)], NAME)


def test_vectors_need_a_row_without_padding_and_no_blanks_inside() -> None:
    assert judged(looks(tokens=False), NAME)
    assert not judged(looks(tokens=False, filled=False), NAME)
    assert not judged(looks(tokens=False, shortest=4), NAME)
    assert not judged(looks(tokens=False, elsewhere=0.05), NAME)
