"""A layer built for another size than it got: the constructor's argument, and how to change it."""

from __future__ import annotations

from dataclasses import dataclass

from torch_debugger.checks.explainers.blame import layer_name, place_text
from torch_debugger.checks.explainers.calls import Argument, argument_of, calls_of, number_of, rewritten
from torch_debugger.records import Edit, LayerFact

# Torch's own modules that hand one of their arguments on to layers they make.
_OWNERS = {
    "embed_dim": [
        (kind, 0, "d_model") for kind in ("TransformerEncoderLayer", "TransformerDecoderLayer", "Transformer")
    ]
}


@dataclass(frozen=True, slots=True)
class Setting:
    """One size a layer was built with, and where its constructor takes it."""

    layer: LayerFact
    keyword: str  # in_features
    position: int
    got: int

    @property
    def built_for(self) -> int:
        return int(self.layer.settings[self.keyword])

    def argument(self) -> Argument | None:
        """The argument in the source, when one call on the constructor's line can be this layer's."""
        found, code = [], self.layer.place.code or ""
        written = [argument_of(call, self.position, self.keyword) for call in calls_of(code, self.layer.kind)]
        for owner, position, keyword in _OWNERS.get(self.keyword, ()):
            written += [argument_of(call, position, keyword) for call in calls_of(code, owner)]
        for argument in written:
            if argument is not None and number_of(argument.text) in (None, self.built_for):
                found.append(argument)
        literal = [item for item in found if number_of(item.text) is not None] or found
        return literal[0] if len({item.call for item in literal}) == 1 else None

    def built_text(self) -> str:
        """: `nn.Linear(100, 10)` at net.py:14 (or as much of it as is known)"""
        argument, place = self.argument(), self.layer.place
        if not place.file:
            return f" (called at {place_text(self.layer.call)})"
        return f": `{argument.call}` at {place_text(place)}" if argument else f" at {place_text(place)}"

    def fix(self, reason: str) -> str:
        argument = self.argument()
        if argument is None:
            line = f" at {place_text(self.layer.place)}" if self.layer.place.file else ""
            name = layer_name(self.layer)
            return f"Build {name}{line} with {self.keyword}={self.got} instead of {self.built_for}{reason}."
        if number_of(argument.text) is None:
            return (
                f"Make `{argument.text}` in `{argument.call}` {self.got}; it is {self.built_for} now{reason}."
            )
        return f"Change `{argument.call}` to `{argument.replaced(str(self.got))}`{reason}."

    def edit(self) -> Edit | None:
        argument = self.argument()
        if argument is None or number_of(argument.text) is None:
            return None
        return rewritten(self.layer.place, argument.call, argument.replaced(str(self.got)))
