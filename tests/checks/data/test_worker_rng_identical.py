from __future__ import annotations

from tests.fakes import judged, place
from torch_debugger.records import BatchLook, CopiedGenerator, LoaderFact

NAME = "worker-rng-identical"
LOADER = LoaderFact("Patches", 16, 32, 2, True, place(30), 1, number=1, names=("train_loader",))
KEPT = CopiedGenerator(1, 2, "Patches", "noise", "Generator", place(17), place(23), 1)


def batch(trained: bool) -> BatchLook:
    return BatchLook(1, 1, 0, trained, (), 1)


def test_a_generator_in_the_dataset_of_a_loader_that_is_trained_on() -> None:
    (finding,) = judged([LOADER, KEPT, batch(True)], NAME)
    assert finding.message == (
        "`self.noise` of `Patches` at train.py:17 (Generator) is copied into each of the 2 workers of "
        "`train_loader`: all of them draw the same random numbers at train.py:23."
    )
    assert (finding.severity, finding.where.line) == ("warning", 17)
    assert "a `worker_init_fn` that makes `self.noise` anew" in finding.fix


def test_validation_and_loaders_without_one_are_silent() -> None:
    assert not judged([LOADER, KEPT, batch(False)], NAME)
    assert not judged([LOADER, batch(True)], NAME)
