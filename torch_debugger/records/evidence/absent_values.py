"""None where a tensor was meant, and where it came from."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_debugger.records.place import Place


@dataclass(frozen=True, slots=True)
class AbsentValue:
    expression: str  # what is None, as the line has it: param.grad
    place: Place  # the user's line that has it
    # grad (of a tensor) | hook (of the gradients a hook was given) | attribute | call
    # | argument (of the function, in arithmetic)
    form: str
    # argument: backward (of a Function that has one of its own), else empty
    # grad: before (no backward yet) | cleared | frozen | unused | not-a-leaf | not-recorded; else empty
    reason: str = ""
    parameter: str = ""  # grad: the path of the parameter, net.fc.weight; empty for another tensor
    tensor: str = ""  # grad: the tensor, as the line has it: param; argument: what it meets
    others: tuple[str, ...] = ()  # more parameters of that model that have none
    count: int = 0  # of the model's trainable parameters
    mentioned: bool = True  # unused: some forward of the model names the module that owns the parameter
    cause: Place = field(
        default_factory=Place
    )  # the zero_grad, the line that froze it, the call that gave None
    cause_text: str = ""  # call: what was called; argument: the operation
    setters: tuple[Place, ...] = ()  # attribute: the lines that would give it a value
