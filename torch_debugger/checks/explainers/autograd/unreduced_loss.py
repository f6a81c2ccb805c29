"""A backward from something that is no single number."""

from __future__ import annotations

import re

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text, shape_text, user_frame
from torch_debugger.checks.explainers.calls import one_line, rewritten
from torch_debugger.records import CrashFact, CrashFrame, Edit, LocalTensor, Place

_WHY = (
    "Backward starts from one number. For several it must be told how much each of them counts, and a "
    "loss says "
    "that by its mean or sum."
)


def explain_unreduced(crash: CrashFact) -> Blame | None:
    evidence, frame = crash.evidence.autograd, user_frame(crash)
    root = evidence.roots[0] if evidence is not None and evidence.roots else None
    if (
        crash.kind != "RuntimeError"
        or root is None
        or frame is None
        or crash.frames[-1].function != "_make_grads"
    ):
        return None
    if "grad can be implicitly created only for scalar outputs" in crash.message and root.shape:
        return _many(crash, frame, root)
    if "grad_output[0] has a shape of" in crash.message:
        return _wrong_gradient(crash, frame, root)
    return None


def _many(crash: CrashFact, frame: CrashFrame, root: LocalTensor) -> Blame:
    evidence = crash.evidence.autograd
    criterion = evidence.criterion if evidence is not None else Place()
    made = evidence.root_made if evidence is not None else Place()
    name = f"`{root.name}`" if root.name else "the tensor"
    fix, edit, where = _reduction(criterion) or _averaged(made) or _mean_here(frame, root)
    from_line = f", made at {place_text(made)}," if made.file else ""
    told: dict[str, float | str] = {"loss": f"{root.dtype} {shape_text(root.shape)}"}
    if made.file:
        told["made"] = line_text(made)
    return Blame(
        f"`{one_line(frame.code)}` at {place_text(crash.place)} needs a single number, but {name}{from_line} "
        f"is {shape_text(root.shape)}.",
        _WHY,
        fix,
        where,
        told | {"backward": line_text(crash.place)},
        0.97,
        edit,
    )


def _reduction(criterion: Place) -> tuple[str, Edit | None, Place] | None:
    """The loss is built with reduction='none'."""
    code = criterion.code or ""
    plain = re.sub(r",?\s*reduction\s*=\s*(['\"])none\1", "", code).replace("(, ", "(")
    if plain == code:
        return None
    text = (
        f"Let the loss take the mean: write `{one_line(plain)}` at {place_text(criterion)}; or write `.mean()` "
    )
    return (
        f"{text}behind the loss where each sample's own value is used too.",
        rewritten(criterion, code, plain),
        criterion,
    )


def _averaged(made: Place) -> tuple[str, Edit | None, Place] | None:
    """reduction='none' in the call that makes the loss."""
    code = made.code or ""
    plain = re.sub(r",?\s*reduction\s*=\s*(['\"])none\1", "", code).replace("(, ", "(")
    if plain == code:
        return None
    text = f"Let the loss take the mean: write `{one_line(plain)}` at {place_text(made)}."
    return text, rewritten(made, code, plain), made


def _mean_here(frame: CrashFrame, root: LocalTensor) -> tuple[str, Edit | None, Place]:
    whole = Place(frame.file, frame.code_line or frame.line, frame.module, frame.code)
    before = f"{root.name}.backward("
    if not root.name or before not in frame.code:
        return f"Take the mean or the sum of it before {place_text(whole)}: `.mean()`.", None, whole
    after = f"{root.name}.mean().backward("
    text = (
        f"Take the mean: write `{after})` instead of `{before})` at {place_text(whole)}; `.sum()` "
        f"adds up instead."
    )
    return text, rewritten(whole, before, after), whole


def _wrong_gradient(crash: CrashFact, frame: CrashFrame, root: LocalTensor) -> Blame | None:
    given = next((tensor for tensor in crash.frames[-1].tensors if tensor.name == "grads[0]"), None)
    if given is None or given.shape == root.shape:
        return None
    name = f"`{root.name}`" if root.name else "the tensor"
    return Blame(
        f"`{one_line(frame.code)}` at {place_text(crash.place)} gives backward a gradient "
        f"{shape_text(given.shape)} "
        f"for {name}, which is {shape_text(root.shape)}.",
        "The gradient given to backward says how much each element counts, so it has the shape of the tensor.",
        f"Give it a gradient of shape {shape_text(root.shape)}, as `torch.ones_like({root.name or 'x'})` "
        f"is; or call "
        f"`{root.name or 'x'}.mean().backward()`.",
        crash.place,
        {
            "gradient": shape_text(given.shape),
            "tensor": shape_text(root.shape),
            "backward": line_text(crash.place),
        },
        0.97,
    )
