"""One setting of one layer that decides how large its result is."""

from __future__ import annotations

import dataclasses

from torch_debugger.checks.explainers.blame import Blame, place_text
from torch_debugger.checks.explainers.crash_check import Explainer
from torch_debugger.records import CrashFact, Edit


def naming_the_layer(explain: Explainer) -> Explainer:
    """The explainer; where it has no edit, with the layer whose setting was tried otherwise and then fitted."""

    def explain_and_name(crash: CrashFact) -> Blame | None:
        blame, setting = explain(crash), crash.evidence.setting
        if blame is None or blame.edit is not None or setting is None:
            return blame
        place, text = setting.place, f"{setting.name}={setting.value}"
        assert place.file is not None and place.line is not None
        return dataclasses.replace(
            blame,
            message=f"{blame.message} `{setting.path}` at {place_text(place)} makes it another size.",
            why=f"The model was run once more with `{text}` in `{setting.path}`: then the sizes fit.",
            fix=f"Make `{setting.path}` with `{text}` at {place_text(place)}.",
            where=place,
            evidence=blame.evidence | {"tried": f"fits with {text}"},
            confidence=0.9,
            edit=Edit(place.file, place.line, place.code or "", setting.after) if setting.after else None,
        )

    return explain_and_name
