from __future__ import annotations

import math
from typing import Any

from tests.fakes import judged, only, place
from torch_debugger.records import (
    DEVIATION_FORMS,
    SAMPLING_ORDERS,
    DivergenceReading,
    Finding,
    FormFit,
    LatentSampling,
    NoiseLook,
    Place,
    WrittenSampling,
)

EXACT = FormFit(1.0, -1.0, 1e-7)
NORMAL = NoiseLook(0.02, 0.99, -3.1, 2.9, 256)
CALL = WrittenSampling(
    place=place(16, code="return mean + var * epsilon"),
    deviation="log_var",
    deviation_place=place(21, code="z = self.sample(mean, log_var)"),
    around=("z = self.sample(mean, ", ")"),
    noise="torch.randn_like",
    noise_place=place(15, code="epsilon = torch.randn_like(var)"),
)


def reading(use: str, form: str = "log-variance", **changed: Any) -> DivergenceReading:
    used = tuple(0.0 if name == use else 0.8 for name in DEVIATION_FORMS)
    plain: dict[str, Any] = {"distance": 0, "positive": False, "fit": EXACT, "size": 1.02, "used": used}
    return DivergenceReading(form, **{**plain, **changed})


def look(step: int = 1, **changed: Any) -> LatentSampling:
    plain: dict[str, Any] = {
        "source": "vae.mean", "shape": (64, 4), "order": SAMPLING_ORDERS[0],
        "agreement": FormFit(0.5, 0.1, 0.1),
        "mean_factor": 1.0, "readings": (), "size": 0.15, "noise": NORMAL, "error_op": "",
        "error_weight": math.nan, "error_shape": (), "error_mean": False, "written": CALL,
        "divergence": Place(), "step": step,
    }  # fmt: skip
    return LatentSampling(**{**plain, **changed})


def check(**changed: Any) -> list[Finding]:
    return judged([look(1, **changed), look(2, **changed)], "wrong-reparameterization")


def test_the_log_variance_as_deviation() -> None:
    (finding,) = check(readings=(reading("as it is"),))
    assert finding.message == (
        "The noise that is added to the mean, which `vae.mean` makes, is multiplied with the log-variance itself at "
        "train.py:21, where the KL term assumes exp(0.5 * log-variance): 0.15 in place of 1.02 on average."
    )
    assert finding.edit is not None and finding.edit.line == 21
    assert finding.edit.after == "z = self.sample(mean, torch.exp(0.5 * log_var))"
    assert (finding.severity, finding.confidence) == ("error", 0.99)


def test_one_look_is_enough_at_the_end() -> None:
    assert only(judged([look(readings=(reading("as it is"),))], "wrong-reparameterization")).confidence == 0.95


def test_edits_by_what_stands_there() -> None:
    def edited(deviation: str, use: str, form: str = "log-variance") -> str:
        written = WrittenSampling(
            place(16), deviation, place(16, code=f"z = m + {deviation} * e"), ("z = m + ", " * e"), "torch.randn"
        )
        (finding,) = check(readings=(reading(use, form),), written=written)
        return finding.edit.after if finding.edit else finding.fix

    assert edited("torch.exp(s)", "exp") == "z = m + torch.exp(0.5 * s) * e"
    assert edited("0.5 * s.exp()", "half of exp") == "z = m + torch.exp(0.5 * s) * e"
    assert edited("s.exp()", "exp") == "z = m + torch.exp(0.5 * s) * e"
    assert edited("0.5 * s", "half") == "z = m + torch.exp(0.5 * s) * e"
    assert edited("half", "half") == "z = m + torch.exp(half) * e"
    assert edited("var", "exp") == "z = m + torch.sqrt(var) * e"
    assert edited("torch.exp(-0.5 * s)", "exp of minus half") == "z = m + torch.exp(0.5 * s) * e"
    assert edited("rate", "as it is", "log-deviation") == "z = m + torch.exp(rate) * e"
    assert edited("v", "as it is", "variance") == "z = m + torch.sqrt(v) * e"


def test_a_divergence_that_is_given_the_deviation() -> None:
    (finding,) = check(readings=(reading("as it is", positive=True),), divergence=place(40))
    assert finding.where.line == 40 and finding.edit is None
    assert finding.message.startswith("The KL term at train.py:40 takes the standard deviation for the log-variance")


def test_uniform_noise() -> None:
    noise = NoiseLook(0.49, 0.29, 0.001, 0.998, 256)
    written = WrittenSampling(noise="torch.rand_like", noise_place=place(15, code="e = torch.rand_like(std)"))
    (finding,) = check(agreement=EXACT, noise=noise, written=written)
    assert finding.edit is not None and finding.edit.after == "e = torch.randn_like(std)"
    assert not check(agreement=EXACT, noise=NORMAL)
    assert not check(agreement=EXACT, noise=NoiseLook(0.5, 0.29, 0.1, 0.9, 20)), "too few"
    assert not check(agreement=EXACT, noise=NoiseLook(0.01, 0.29, -0.5, 0.5, 256)), "around 0: on purpose"


def test_mean_times_deviation_plus_noise() -> None:
    written = WrittenSampling(
        place(16, code="return std * mean + e"), around=("return ", ""), parts=("mean", "std", "e")
    )
    (finding,) = check(order=SAMPLING_ORDERS[1], agreement=EXACT, noise=None, written=written)
    assert finding.edit is not None and finding.edit.after == "return mean + std * e"
    assert not check(order=SAMPLING_ORDERS[1], agreement=EXACT, mean_factor=math.nan, noise=None)


def test_what_is_not_sure_is_not_said() -> None:
    assert not check(agreement=EXACT, readings=(reading("as it is"),)), "the right one"
    assert not check(readings=(reading("none of them"),)), "some other function"
    assert not check(readings=(reading("as it is", fit=FormFit(1.0, -1.0, 0.009)),)), "does not fit"
    assert not check(readings=(reading("as it is", fit=FormFit(1.0, -0.7, 1e-7)),)), "another prior"
    assert not check(readings=(reading("as it is", used=(0.0,) + (1e-4,) * 9),)), "all the same near 0"
