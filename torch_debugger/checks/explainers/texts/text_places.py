"""Pasted tracebacks about devices, memory and indices."""

from __future__ import annotations

from torch_debugger.checks.explainers.texts.text_rules import TextRule, explain_by

_ANY_LINE = r"\w"

explain_text_devices = explain_by(
    TextRule(
        message=r"Expected all tensors to be on the same device, but found at least two devices, "
        r"(?P<first>[\w:]+) and (?P<second>[\w:]+)",
        through=r"/torch/",
        line=_ANY_LINE,
        told="{at} brings a tensor on {first} and one on {second} together.",
        why="An operation computes on one device.",
        fix="Send the odd one to the other's device: `x = x.to(device)` for a batch, `model.to(device)` for a "
        "model; a tensor made in forward takes `device=x.device`, one kept by a module `register_buffer`.",
        unknown="which tensor is the odd one, and the line that made it",
    ),
    TextRule(
        message=r"Expected all tensors to be on the same device, but got (?P<argument>\w+) is on "
        r"(?P<first>[\w:]+), different from other tensors on (?P<second>[\w:]+)",
        through=r"/torch/",
        line=_ANY_LINE,
        told="{at} got its `{argument}` on {first}, and everything else on {second}.",
        why="An operation computes on one device.",
        fix="Send it to {second} where it is made: `.to('{second}')`; one kept by a module belongs into "
        "`register_buffer`.",
        unknown="the line that made it",
    ),
    TextRule(
        message=r"Input type \(torch\.cuda\.(?P<kind>\w+)Tensor\) and weight type \(torch\.(?P=kind)Tensor\)",
        through=r"/torch/nn/modules/conv\.py$",
        told="{at} calls a layer whose weights are on the CPU with an input on the GPU.",
        why="A layer computes where its weights are.",
        fix="Call `model.to(device)` before training; layers kept in a plain list are not moved by it: use "
        "`nn.ModuleList`.",
        unknown="whether it is the whole model or one layer",
    ),
    TextRule(
        message=r"Input type \(torch\.(?P<kind>\w+)Tensor\) and weight type \(torch\.cuda\.(?P=kind)Tensor\)",
        through=r"/torch/nn/modules/conv\.py$",
        told="{at} calls a layer whose weights are on the GPU with an input on the CPU.",
        why="A layer computes where its weights are.",
        fix="Send the batch to the model's device: `x = x.to(device)`.",
        unknown="the line that made the input",
    ),
    TextRule(
        message=r"Torch not compiled with CUDA enabled",
        through=r"/torch/cuda/__init__\.py$",
        told="{at} asks for a GPU, and this torch is built for the CPU alone.",
        why="The installed torch holds no CUDA code.",
        fix="Install a CUDA build of torch, or choose the device by "
        "`'cuda' if torch.cuda.is_available() else 'cpu'`.",
        unknown="whether the machine has a GPU",
    ),
)
explain_text_memory = explain_by(
    TextRule(
        message=r"(?:CUDA|HIP|XPU) out of memory\. Tried to allocate (?P<asked>[\d.]+ \w+)\.? .*?"
        r"total capacity (?:of )?(?P<total>[\d.]+ \w+)(?: of which |.*?; )(?P<free>[\d.]+ \w+)(?: is)? free",
        through=r"/torch/",
        line=_ANY_LINE,
        told="{at} asked for {asked} more; the GPU holds {total}, of which {free} were free.",
        why="What the step needs at once does not fit: weights, gradients, optimizer state, activations.",
        fix="Halve the batch and accumulate gradients over two steps; or use bf16 autocast.",
        unknown="what holds the memory, and whether it grows from step to step",
    )
)
explain_text_indices = explain_by(
    TextRule(
        message=r"^index out of range in self",
        through=r"/torch/nn/modules/sparse\.py$",
        told="an embedding called by {at} was asked for a row that it does not have.",
        why="Indices go from 0 to num_embeddings - 1.",
        fix="Compare `indices.max()` with num_embeddings; count special and padding tokens too.",
        unknown="the index, and the size of the table",
    ),
    TextRule(
        message=r"^Target (?P<target>-?\d+) is out of bounds",
        through=r"/torch/nn/functional\.py$",
        told="the loss called by {at} got the label {target}, and the model has no such output.",
        why="Labels go from 0 to the number of classes - 1.",
        fix="Give the last layer one output for each class, or number the labels from 0; a label that means "
        "nothing goes into `ignore_index`.",
        unknown="the number of outputs, and how many labels are wrong",
    ),
    TextRule(
        message=r"^index (?P<index>-?\d+) is out of bounds for dimension (?P<dimension>\d+) "
        r"with size (?P<size>\d+)",
        line=r"\[|index_select|gather|take",
        outside=r"/torch/utils/data/",
        told="{at} takes entry {index} of dimension {dimension}, which has {size}.",
        why="Entries are numbered from 0 to the size - 1.",
        fix="Print the index and the shape before the line.",
        unknown="where the index comes from",
    ),
)
