"""A layer built for another size than it got: the constructor's argument, and how to change it."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from torch_debugger.checks.crashes.explanation import layer_name, place_text, target_place, user_frame
from torch_debugger.checks.crashes.user_code import (
    Argument,
    Change,
    Line,
    Statement,
    argument_of,
    arguments_of_number,
    calls_of,
    is_floating,
    is_plain,
    is_whole,
    number_of,
    one_line,
    parse_expression,
    rewritten,
    statement_at,
    statement_of,
    with_argument,
    written_call,
)
from torch_debugger.records import Construction, CrashFact, CrashFrame, Edit, LayerFact, LocalTensor, Place

# The constructor of a layer as the user wrote it, and how to add a keyword to it.

# Torch's own modules that hand arguments on to the attention they make.
ATTENTION_OWNERS = "TransformerEncoderLayer", "TransformerDecoderLayer", "Transformer"


def constructor_place(layer: LayerFact) -> Place:
    """The constructor's line, with the code of all the lines it takes."""
    built = layer.constructions[:1]
    return built[0].place if built and built[0].place.line == layer.place.line else layer.place


def add_keyword(layer: LayerFact, written: str) -> Change:
    """Build the layer with one more argument: batch_first=True"""
    place = constructor_place(layer)
    kinds = (layer.kind, *(ATTENTION_OWNERS if layer.kind == "MultiheadAttention" else ()))
    calls = [call for kind in kinds for call in calls_of(place.code or "", kind)]
    if len(calls) != 1:
        line = f" at {place_text(layer.place)}" if layer.place.file else ""
        return Change(f"build {layer_name(layer)}{line} with {written}", None, target_place(layer))
    changed = with_argument(calls[0], written)
    text = f"change `{one_line(calls[0])}` to `{one_line(changed)}`"
    return Change(text, rewritten(place, calls[0], changed), target_place(layer))


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
        built = f": `{one_line(argument.call)}` at {place_text(place)}" if argument else f" at {place_text(place)}"
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


# Sizes that reach a constructor through the user's own functions and classes: double_conv(16, 8).
_LOOPS = ast.For, ast.While, ast.ListComp, ast.GeneratorExp, ast.DictComp


def handed_in(layer: LayerFact, name: str, value: int, shared: bool) -> tuple[Argument, Place] | None:
    """The number that gives `name` its value: where the user's function is called, or where it is written.

    Only through names that serve nothing else on the way, unless the size is `shared` by nature, as the
    number of classes is: the change must reach this layer alone.
    """
    return _handed(layer.constructions, name, value, shared)


def _handed(chain: Sequence[Construction], name: str, value: int, shared: bool) -> tuple[Argument, Place] | None:
    names = _parameters(chain[0].scope) if chain else []
    if name not in names:
        return _written(chain[0], name, value, shared) if chain else None
    if _uses(chain[0].scope, name) != 1 and not shared:
        return None
    for index, outer in enumerate(chain[1:], 1):
        calls = calls_of(outer.place.code or "", chain[0].maker)
        argument = argument_of(calls[0], names.index(name), name) if len(calls) == 1 else None
        if argument is not None:
            found = number_of(argument.text) == value
            return (argument, outer.place) if found else _handed(chain[index:], argument.text, value, shared)
        if calls:
            return _written(chain[0], name, value, shared)  # its default
    return None


def _written(built: Construction, expression: str, value: int, shared: bool) -> tuple[Argument, Place] | None:
    """HIDDEN, config["hidden"], cfg.hidden: the number behind it, if the file writes it in one place."""
    if not isinstance(parse_expression(expression), ast.Name | ast.Attribute | ast.Subscript):
        return None
    name = re.findall(r"[A-Za-z_]\w*", expression)[-1]
    for number in built.numbers:
        if (number.name, number.value) == (name, value) and (shared or number.uses == 1):
            start = len(number.text) - len(str(value))
            return Argument(number.text, start, len(number.text)), number.place
    return None


def uses_of(layer: LayerFact, name: str) -> int:
    """How often the function that builds the layer reads a name; 0 where that is not known."""
    return _uses(layer.constructions[0].scope, name) if layer.constructions else 0


def is_repeated(layer: LayerFact, call: str) -> bool:
    """Whether the call stands in a loop or a comprehension: a change of it would reach other layers too."""
    function = _function(layer.constructions[0].scope) if layer.constructions else None
    loops = [node for node in ast.walk(function) if isinstance(node, _LOOPS)] if function else []
    inside = [part for loop in loops for part in ast.walk(loop) if isinstance(part, ast.Call)]
    return any(ast.unparse(part) == one_line(call) for part in inside)


def _uses(scope: str, name: str) -> int:
    function = _function(scope)
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)] if function else []
    return sum(node.id == name and isinstance(node.ctx, ast.Load) for node in names)


def _parameters(scope: str) -> list[str]:
    function = _function(scope)
    names = [argument.arg for argument in function.args.args] if function else []
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


def defaults_of(scope: str) -> dict[str, int | None]:
    """The arguments that the user's function takes, with those defaults that are plain numbers."""
    function = _function(scope)
    written = [number_of(ast.unparse(node)) for node in function.args.defaults] if function else []
    names = _parameters(scope)
    return dict(zip(names, [*[None] * (len(names) - len(written)), *written], strict=False))


@functools.lru_cache(maxsize=64)
def _function(scope: str) -> ast.FunctionDef | None:
    try:
        body = ast.parse(scope).body
    except (SyntaxError, ValueError):
        return None
    return body[0] if body and isinstance(body[0], ast.FunctionDef) else None


# Where the user's code enters the model and its layers, and with what.
@dataclass(frozen=True, slots=True)
class OutermostCall:
    """The user's outermost call of a module."""

    statement: Statement
    module: str  # its path
    inputs: tuple[LocalTensor, ...]

    def change(self, pattern: str) -> Change:
        """Write `pattern` ("{}.unsqueeze(0)") around the first argument."""
        return self.statement.change([self.module.rpartition(".")[2]], pattern)


def model_entry(crash: CrashFact) -> OutermostCall | None:
    for frame, inner in zip(crash.frames, crash.frames[1:], strict=False):
        if frame.user and not inner.user and inner.module is not None:
            given = tuple(item for item in inner.tensors if item.name.startswith(("args[", "kwargs[")))
            return OutermostCall(statement_of(frame, inner.module), inner.module, given)
    return None


def straight_from_data(crash: CrashFact, layer: LayerFact) -> bool:
    """Whether a layer's input is what the model was called with, and no other layer's output."""
    entry = model_entry(crash)
    if entry is None or not layer.inputs:
        return False
    shape = layer.inputs[0].shape
    given = {tensor.shape for tensor in entry.inputs}
    return shape in given and not any(shape in step.made for step in crash.flow)


def change_input(
    crash: CrashFact, layer: LayerFact, pattern: str, position: int = 0, keyword: str = "", after: str = ""
) -> Change:
    """Write `pattern` around an argument of the layer's call, and `after` behind it."""
    if not _is_given(crash, layer, position):
        behind = f" and write `{after}` behind it" if after else ""
        return Change(f"give it `{pattern.format('x')}`{behind}", None, layer.call)
    names = list(reversed((layer.path or "").split(".")))  # where a container makes the call: its owner's
    return statement_at(crash, layer.call).change(names, pattern, position, keyword, after)


def _is_given(crash: CrashFact, layer: LayerFact, position: int) -> bool:
    """Whether the user's line gives the layer its input itself, or a container that hands it on as it is."""
    for frame, inner in zip(crash.frames, crash.frames[1:], strict=False):
        if frame.user and (frame.file, frame.line) == (layer.call.file, layer.call.line) and not inner.user:
            given = [tensor.shape for tensor in inner.tensors if tensor.name == "args[0]"]
            return inner.module == layer.path or (position == 0 and given == [layer.inputs[0].shape])
    return False


# A loss function that was running when the script crashed, and how the user called it.
CLASS_LOSSES = "cross_entropy", "nll_loss"
EQUAL_LOSSES = (
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "mse_loss", "l1_loss", "smooth_l1_loss",
    "huber_loss",
)  # fmt: skip


STRICT = ("binary_cross_entropy", "binary_cross_entropy_with_logits")  # they want one dtype on both sides


@dataclass(frozen=True, slots=True)
class LossCall:
    """What a loss was given, under the user's own names where its call is plain to read."""

    function: str
    input: LocalTensor
    target: LocalTensor
    call: str | None  # criterion(logits, y)
    input_name: str
    target_name: str
    unparsed: str = ""  # the call as ast.unparse writes it
    weight: LocalTensor | None = None

    def text(self, crash: CrashFact) -> str:
        """`criterion(logits, y)` at train.py:20"""
        return f"`{self.call or self.function}` at {place_text(crash.place)}"

    def change(self, crash: CrashFact, position: int, pattern: str) -> tuple[str, Edit | None]:
        """The call with one argument written in another form, as text and as an edit."""
        name = (self.input_name, self.target_name)[position]
        statement = statement_at(crash, crash.place)
        call = written_call(statement.whole.code or "", self.unparsed) if self.unparsed else None
        argument = argument_of(call or "", position, ("input", "target")[position])
        if argument is None or not is_plain(argument):
            return f"give it `{pattern.format(name)}`", None
        changed = argument.replaced(pattern.format(argument.text))
        return f"write `{one_line(changed)}`", rewritten(statement.whole, argument.call, changed)


def swapped(call: LossCall) -> bool:
    """Class numbers given first and scores second."""
    scores, numbers = call.target, call.input
    return is_whole(numbers.dtype) and is_floating(scores.dtype) and scores.shape[:1] == numbers.shape


def loss_call(crash: CrashFact) -> LossCall | None:
    """The innermost frame of a loss function of torch's, if the user's line called it."""
    for frame in reversed(crash.frames):
        if frame.user:
            return None
        held = {tensor.name: tensor for tensor in frame.tensors}
        if frame.function in CLASS_LOSSES + EQUAL_LOSSES and "input" in held and "target" in held:
            given, target, weight = held["input"], held["target"], held.get("weight")
            user = user_frame(crash)
            line, node = Line(user) if user else None, None
            if line is not None:
                node = next((item for item in line.nodes() if _is_call(crash, frame, line, item)), None)
            if line is None or not isinstance(node, ast.Call):
                return LossCall(frame.function, given, target, None, "input", "target", weight=weight)
            names = [line.source(argument) for argument in node.args[:2]]
            return LossCall(
                frame.function, given, target, line.source(node), names[0], names[1], ast.unparse(node), weight
            )
    return None


def _is_call(crash: CrashFact, frame: CrashFrame, line: Line, node: ast.expr) -> bool:
    """The call that raised; where Python does not tell which that is, one of the loss's name."""
    if not isinstance(node, ast.Call) or len(node.args) < 2:
        return False
    wanted = {frame.function, *((crash.layer.path or "").split(".")[-1:] if crash.layer else ())}
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return bool(line.failing) or name in wanted
