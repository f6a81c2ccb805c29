"""A layer built for another size than it got: the constructor's argument, and how to change it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch_debugger.checks.explainers.blame import layer_name, place_text
from torch_debugger.checks.explainers.calls import (
    Argument,
    argument_of,
    arguments_of_number,
    calls_of,
    number_of,
    one_line,
    rewritten,
)
from torch_debugger.checks.explainers.constructors import ATTENTION_OWNERS, constructor_place
from torch_debugger.checks.explainers.makers import handed_in, is_repeated, uses_of
from torch_debugger.records import Edit, LayerFact, Place

_NOWHERE = 99  # no position: by keyword only
_OWNERS = {"embed_dim": [(kind, 0, "d_model") for kind in ATTENTION_OWNERS]}


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

    @property
    def where(self) -> Place:
        """The line to edit: where the size is written, else the constructor, else the call."""
        if self._is_proven():
            return self.layer.call
        if (handed := self._handed()) is not None:
            module = handed[1].module or self.layer.path
            return replace(handed[1], module=module, code=(handed[1].code or "").partition("\n")[0])
        return self.layer.place if self.layer.place.file and not self._misplaced() else self.layer.call

    def built_text(self) -> str:
        """: `nn.Linear(100, 10)` at net.py:14 (or as much of it as is known)"""
        argument, place = self._argument(), self.layer.place
        if not place.file or self._misplaced():
            return f" (called at {place_text(self.layer.call)})"
        built = (
            f": `{one_line(argument.call)}` at {place_text(place)}" if argument else f" at {place_text(place)}"
        )
        handed = self._handed()
        return f"{built}, by `{one_line(handed[0].call)}` at {place_text(handed[1])}" if handed else built

    def fix(self, reason: str) -> str:
        written = self._written()
        if self._is_proven():
            return (
                f"{layer_name(self.layer)} has been trained with {self.built_for}, so it is this input that "
                f"differs: give it {self.built_for} as before{reason}."
            )
        if written is None:
            known = self.layer.place.file and not self._misplaced()
            line = f" at {place_text(self.layer.place)}" if known else ""
            name = layer_name(self.layer)
            return f"Build {name}{line} with {self.keyword}={self.got} instead of {self.built_for}{reason}."
        argument, place = written
        before, after = one_line(argument.call), one_line(argument.replaced(self._size(argument)))
        if self._is_plain(argument):
            line = f" at {place_text(place)}" if self._handed() else ""
            return f"Change `{before}` to `{after}`{line}{reason}."
        return f"Make `{argument.text}` in `{before}` {self.got}; it is {self.built_for} now{reason}."

    def edit(self) -> Edit | None:
        written = self._written()
        if written is None or not self._is_plain(written[0]) or self._is_proven():
            return None
        argument, place = written
        return rewritten(place, argument.call, argument.replaced(self._size(argument)))

    def _size(self, argument: Argument) -> str:
        """The size to write: len(vocab) keeps counting, with as much added as is missing."""
        if self._is_shared() and argument.text.startswith("len(") and self.got > self.built_for:
            return f"{argument.text} + {self.got - self.built_for}"
        return str(self.got)

    def _is_proven(self) -> bool:
        """Whether the layer has worked with the size it was built for: then the input is the odd one."""
        return self.layer.ran_before and not self._is_shared()

    def _is_shared(self) -> bool:
        """Whether other layers must have the same size: a number of classes or of rows, not of features."""
        return self.keyword in ("out_features", "out_channels", "num_embeddings")

    def _is_plain(self, argument: Argument) -> bool:
        """Whether a number can take its place: a name that serves this layer alone is better changed itself.

        The width of attention is that of all layers after it too, so only a number is replaced there.
        """
        if number_of(argument.text) is not None or self.keyword == "embed_dim":
            return number_of(argument.text) is not None
        return not argument.text.isidentifier() or uses_of(self.layer, argument.text) > 1

    def _written(self) -> tuple[Argument, Place] | None:
        """The argument to change and where it stands."""
        argument = self._argument()
        if argument is None or is_repeated(self.layer, argument.call):
            return None
        return self._handed() or (argument, constructor_place(self.layer))

    def _handed(self) -> tuple[Argument, Place] | None:
        """The argument of the user's own function or class that ends up in the constructor."""
        argument = self._argument()
        return handed_in(self.layer, argument.text, self.built_for, self._is_shared()) if argument else None

    def _argument(self) -> Argument | None:
        """The argument in the source, when one call on the constructor's line can be this layer's."""
        found = [item for item in self._arguments() if number_of(item.text) in (None, self.built_for)]
        literal = [item for item in found if number_of(item.text) is not None] or found
        return literal[0] if len({item.call for item in literal}) == 1 else None

    def _arguments(self) -> list[Argument]:
        code, name = constructor_place(self.layer).code or "", self.layer.user_class or self.layer.kind
        written = [argument_of(call, self._position(), self.keyword) for call in calls_of(code, name)]
        for owner, position, keyword in _OWNERS.get(self.keyword, ()):
            written += [argument_of(call, position, keyword) for call in calls_of(code, owner)]
        found = [argument for argument in written if argument is not None]
        # else it is built by a function or class of the user's: what that takes of this very number
        return found or arguments_of_number(code, self.built_for)

    def _position(self) -> int:
        """Where the constructor takes the size: that of a class of the user's may take it elsewhere."""
        own = self.layer.user_arguments
        if not own:
            return self.position
        return own.index(self.keyword) if self.keyword in own else _NOWHERE

    def _misplaced(self) -> bool:
        """Whether the line that is taken for the constructor writes another size: then it is not it."""
        numbers = [number_of(argument.text) for argument in self._arguments()]
        return bool(numbers) and None not in numbers and self.built_for not in numbers
