"""What load_state_dict() was given and what the model asked for."""

from __future__ import annotations

from tests.fakes import findings_of, place
from torch_debugger.records import CheckpointLoad, Edit, Place, SavedTensor

LOAD = place(41, code="net.load_state_dict(state, strict=False)")


def entries(*keys: str, shape: tuple[int, ...] = (8, 4)) -> tuple[SavedTensor, ...]:
    return tuple(SavedTensor(key, shape) for key in keys)


def load(wanted: int = 4, loaded: int = 4, **others: object) -> CheckpointLoad:
    facts: dict[str, object] = {"kind": "Net", "place": LOAD, "own": 0, "missing": (), "unexpected": ()}
    facts |= {"last_layer": "fc", "nested": "", "kept": Place(), "step": 151}
    return CheckpointLoad(wanted=wanted, loaded=loaded, **{**facts, **others})  # type: ignore[arg-type]


mismatch = findings_of("checkpoint-does-not-match")


def test_a_prefix_that_a_wrapper_left() -> None:
    given = entries("module.body.weight", "module.fc.weight")
    (finding,) = mismatch(load(2, 0, missing=entries("body.weight", "fc.weight"), unexpected=given))
    assert finding.message == (
        "`net.load_state_dict(state, strict=False)` at train.py:41 left 2 of 2 entries of Net as they were: "
        "the model wants `body.weight`, the checkpoint has `module.body.weight`."
    )
    assert finding.fix == (
        "Load `{key.removeprefix('module.'): value for key, value in state.items()}` at train.py:41, and leave "
        "strict=False out."
    )
    assert (finding.severity, finding.where) == ("error", LOAD)


def test_each_mismatch_has_its_fix() -> None:
    # the model inside the checkpoint
    given = entries("net", "epoch", shape=())
    (finding,) = mismatch(load(2, 0, missing=entries("body.weight"), unexpected=given, nested="net"))
    assert finding.fix.startswith('Load the inner dictionary at train.py:41: `["net"]`')
    # layers that were renamed
    missing, given = (
        entries("backbone.0.weight", "backbone.2.weight"),
        entries("encoder.0.weight", "encoder.2.weight"),
    )
    (finding,) = mismatch(load(4, 2, missing=missing, unexpected=given))
    assert finding.fix.startswith("Rename `encoder.` to `backbone.` in the keys before the load at train.py:41")
    # a filter by names that let nothing through
    missing, given = entries("backbone.0.weight", "fc.weight"), entries("encoder.0.weight")
    (finding,) = mismatch(load(2, 0, missing=missing, unexpected=given, filtered=True))
    assert finding.why.startswith("Only entries whose names the model has are taken over")
    assert finding.fix == "Rename `encoder.` to `backbone.` in the keys before the load at train.py:41."
    (finding,) = mismatch(load(2, 0, missing=entries("body.weight", "fc.weight")))
    assert (finding.severity, finding.confidence) == ("warning", 0.7), "nothing given is a warning"


def test_what_is_loaded_in_part_on_purpose_is_silent() -> None:
    assert not mismatch(load())
    assert not mismatch(load(4, 2, missing=entries("fc.weight", "fc.bias")))
    assert not mismatch(load(4, 3, missing=entries("fc.weight"), unexpected=entries("classifier.weight")))
    assert not mismatch(load(4, 3, missing=entries("new.weight"), unexpected=entries("old.weight", shape=(9, 9))))
    assert not mismatch(load(4, 2, unexpected=entries("optimizer")))


KEPT = place(28, code="best = model.state_dict()")
alias = findings_of("best-weights-not-copied")


def test_weights_that_were_kept_without_a_copy() -> None:
    (finding,) = alias(load(own=4, kept=KEPT, place=place(41, code="model.load_state_dict(best)")))
    assert finding.message == (
        "`model.load_state_dict(best)` at train.py:41 loads the model's own tensors into itself: "
        "`best = model.state_dict()` at train.py:28 kept all 4 without a copy, and training went on."
    )
    assert finding.fix == "Write `best = copy.deepcopy(model.state_dict())` at train.py:28 (with `import copy`)."
    assert finding.edit == Edit("train.py", 28, KEPT.code or "", "best = copy.deepcopy(model.state_dict())")


def test_copies_and_loads_before_any_training_are_silent() -> None:
    assert not alias(load(own=0, kept=KEPT))
    assert not alias(load(own=3, kept=KEPT))
    assert not alias(load(own=4))
    assert not alias(load(own=4, kept=KEPT, step=1))
