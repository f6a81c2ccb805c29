"""Pasted tracebacks out of backward and of what it needs."""

from __future__ import annotations

from torch_debugger.checks.explainers.texts.text_rules import TextRule, explain_by

_BACKWARD = r"/torch/(?:_tensor|autograd/__init__|autograd/graph)\.py$"

explain_text_no_graph = explain_by(
    TextRule(
        message=r"element (?P<element>\d+) of tensors does not require grad and does not have a grad_fn",
        through=_BACKWARD,
        told="{at} goes back through a tensor that no trainable weight leads to.",
        why="Somewhere before it the graph was cut, or nothing was recorded.",
        fix="Look between the model and the loss for `.detach()`, `.item()`, `.data`, `torch.tensor(...)`, "
        "`no_grad`, numpy or `argmax`, and for weights with `requires_grad=False`.",
        unknown="the line that cuts the graph",
    )
)
explain_text_twice = explain_by(
    TextRule(
        message=r"Trying to backward through the graph a second time",
        through=_BACKWARD,
        told="{at} goes through a graph that an earlier backward has already used up.",
        why="backward frees what it needed of the graph; a tensor kept from an earlier step still leads there.",
        fix="Compute the loss anew in each step, and `.detach()` what is carried over from one to the next "
        "(a hidden state, a running loss, a fake batch).",
        unknown="which tensor is carried over",
    )
)
explain_text_not_scalar = explain_by(
    TextRule(
        message=r"grad can be implicitly created only for scalar outputs",
        through=_BACKWARD,
        told="{at} starts from a tensor with more than one entry.",
        why="A gradient is of one number.",
        fix="Reduce the loss first, `.mean()` or `.sum()`; look for `reduction='none'`.",
        unknown="the shape of that tensor",
    )
)
explain_text_in_place = explain_by(
    TextRule(
        message=r"modified by an inplace operation: \[torch\.(?:cuda\.)?\w+ \[(?P<shape>[\d, ]*)\]\]"
        r"(?:, which is output \d+ of (?P<operation>\w+),)? is at version (?P<version>\d+); "
        r"expected version (?P<expected>\d+)",
        through=_BACKWARD,
        told="{at} needs a tensor of shape [{shape}] as it was at version {expected}; something has written "
        "into it since, it is at version {version}.",
        why="backward needs the values the forward computed with.",
        fix="Look for `+=`, `x[...] = `, functions that end in `_` and `inplace=True` on a tensor of that "
        "shape, and for an `optimizer.step()` between forward and backward.",
        unknown="the line that writes into it",
    )
)
explain_text_leaf = explain_by(
    TextRule(
        message=r"a (?:view of a )?leaf Variable that requires grad is being used in an in-place operation",
        line=r"[-+*/]=|\]\s*=|\w_\(",
        told="{at} writes into a weight while gradients are recorded.",
        why="A leaf of the graph must keep its values until backward has been.",
        fix="Write under `with torch.no_grad():`, or make a new tensor.",
        unknown="nothing that matters here; the shapes",
    )
)
explain_text_detach = explain_by(
    TextRule(
        message=r"Can't call numpy\(\) on Tensor that requires grad",
        line=r"numpy|np\.|plt\.|plot|imshow|asarray|array\(",
        told="{at} makes a numpy array of a tensor that requires grad.",
        why="numpy knows nothing of gradients.",
        fix="Write `.detach().cpu().numpy()`.",
        unknown="the shape of that tensor",
    )
)
