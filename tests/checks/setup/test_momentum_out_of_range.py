from __future__ import annotations

from tests.fakes import judged, optimizer
from torch_debugger.records import Finding, OptimizerFact


def check(fact: OptimizerFact) -> list[Finding]:
    return judged([fact], "momentum-out-of-range")


def test_momentum_without_end() -> None:
    (finding,) = check(optimizer("SGD", lr=0.02, momentum=1.0))
    assert finding.severity == "error"
    assert finding.message == "`optimizer` (SGD at train.py:28) has a momentum of 1."
    assert finding.fix == "Set `momentum=0.9` in `optimizer` at train.py:28."
    assert finding.edit is None


def test_swapped_betas() -> None:
    call = "torch.optim.Adam(net.parameters(), betas=(0.999, 0.9))"
    (finding,) = check(optimizer("Adam", source=call, beta1=0.999, beta2=0.9))
    assert finding.severity == "warning"
    assert finding.message == "`optimizer` (Adam at train.py:28) has betas of (0.999, 0.9)."
    assert finding.fix == "Set `betas=(0.9, 0.999)` in `optimizer` at train.py:28."
    assert finding.edit is not None
    assert finding.edit.after == "optimizer = torch.optim.Adam(net.parameters(), betas=(0.9, 0.999))"


def test_a_rate_in_the_place_of_the_momentum() -> None:
    (finding,) = check(optimizer("SGD", lr=0.9, momentum=0.01))
    assert finding.message.endswith("has a learning rate of 0.9 and a momentum of 0.01.")
    assert finding.fix == "Set `lr=0.01, momentum=0.9` in `optimizer` at train.py:28."


def test_settings_that_people_use_are_silent() -> None:
    for settings in ({"momentum": 0.99}, {"momentum": 0.0}, {"momentum": 0.9}):
        assert not check(optimizer("SGD", lr=0.1, **settings))
    assert not check(optimizer("SGD", lr=0.9, momentum=0.9))
    for first, second in ((0.9, 0.999), (0.0, 0.9), (0.5, 0.999), (0.9, 0.9), (0.95, 0.9), (0.9, 0.95)):
        assert not check(optimizer("Adam", beta1=first, beta2=second))
