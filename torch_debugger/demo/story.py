"""The demo's sequence of scripts: what each still has wrong, and what the next one changes."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from importlib import resources

from torch_debugger.records import Edit

SCRIPT = "vae.py"
PICTURES = ("orig_data.png", "reconstructions.png", "generated_samples.png")


@dataclass(frozen=True)
class Version:
    """One state of the script on its way from broken to healthy."""

    file: str
    heading: str
    verdict: str | None  # the check that must be the verdict; None for the healthy version
    remedy: str  # what the next version changes, and why

    @property
    def text(self) -> str:
        return (resources.files("torch_debugger.demo") / "versions" / self.file).read_text(encoding="utf-8")


VERSIONS = (
    Version(
        "v1_all_bugs.py",
        "the script as it came",
        "shape-mismatch",
        "The decoder reads the latent code, so its first layer takes LATENT numbers.",
    ),
    Version(
        "v2_shape_fixed.py",
        "the shape fixed",
        "wrong-reparameterization",
        "The encoder gives the logarithm of the variance; the noise is multiplied with the standard "
        "deviation, which is exp(0.5 * log_var).",
    ),
    Version(
        "v3_math_fixed.py",
        "the math fixed",
        "missing-zero-grad",
        "Each step starts from its own gradients.",
    ),
    Version(
        "v4_training_fixed.py",
        "the training fixed",
        "tensor-on-wrong-device",
        "The noise is made where the other tensors are.",
    ),
    Version("v5_healthy.py", "all four fixed", None, ""),
)
BEFORE = VERSIONS[2]  # the last version whose loss still shows a bug


def change(old: Version, new: Version) -> Edit:
    """The lines that differ between two versions, with one line around them."""
    before, after = old.text.splitlines(), new.text.splitlines()
    differing = difflib.SequenceMatcher(None, before, after, autojunk=False)
    (group,) = differing.get_grouped_opcodes(1)
    start, end = group[0][1], group[-1][2]
    new_start, new_end = group[0][3], group[-1][4]
    return Edit(SCRIPT, start + 2, "\n".join(before[start:end]), "\n".join(after[new_start:new_end]))
