"""Messages pasted alone, without a traceback: what they say alone. With a traceback its lines decide."""

from __future__ import annotations

from torch_debugger.checks.explainers.texts.text_rules import TextRule, explain_by

_VALUES = "the values that met there"

explain_message_numpy = explain_by(
    TextRule(
        message=r"can't convert (?P<device>\w+)(?::\d+)? device type tensor to numpy",
        told="a tensor on the device {device} was to become a numpy array.",
        why="numpy reads the memory of the CPU.",
        fix="Write `.detach().cpu().numpy()`.",
        unknown="which tensor",
    )
)
explain_message_worker = explain_by(
    TextRule(
        message=r"DataLoader worker \(pid.*?\) (?:is killed by signal|exited unexpectedly)",
        told="a worker process of a DataLoader ended in the middle of its work.",
        why="Most often the machine ran out of memory or of shared memory (/dev/shm), or the "
        "dataset crashed in C.",
        fix="Try `num_workers=0`: an exception of the dataset then shows where it is raised. "
        "If that runs, use fewer "
        "workers or give the container more shared memory (`--shm-size`).",
        unknown="what ended it",
    )
)
explain_message_collective = explain_by(
    TextRule(
        message=r"[Ww]atchdog caught collective operation timeout.*?OpType=(?P<operation>\w+)",
        told="a rank waited in {operation} for the others until the time was up.",
        why="Another rank never came to the same collective: it failed, had fewer batches, "
        "or took another branch.",
        fix="Look at the first error of the other ranks; every rank must make the same "
        "collectives in the same order. "
        "Run all ranks under `torch-debugger run`, which says who did not come.",
        unknown="which rank did not come",
    )
)
explain_message_memory = explain_by(
    TextRule(
        message=r"CUDA out of memory\. Tried to allocate (?P<asked>[\d.]+ \w+)",
        told="{asked} more were asked for than the GPU had left.",
        why="Weights, gradients, optimizer state and the activations of the batch share the memory of the GPU.",
        fix="Halve the batch and accumulate gradients over two steps; use bf16 autocast; add "
        "up `loss.item()` and not "
        "`loss`. `torch-debugger rehearse` says how large a batch fits.",
        unknown="what holds the memory",
    )
)
explain_message_kernel = explain_by(
    TextRule(
        message=r"CUDA error: (?P<error>device-side assert triggered|misaligned address|"
        r"an illegal memory access was encountered)",
        told='a kernel on the GPU failed: "{error}".',
        why="Kernels run behind the program, so the line of the traceback may be a later "
        "one. Most often an index or a "
        "label is out of range.",
        fix="Run the script once on the CPU, or with `CUDA_LAUNCH_BLOCKING=1`, for the exact "
        "line; compare the largest "
        "label and index with what the layers were built for.",
        unknown=_VALUES,
    )
)
explain_message_variable = explain_by(
    TextRule(
        message=r"^name '(?P<name>\w+)' is not defined|(?:local|free) variable '(?P<local>\w+)'",
        told="a variable or module is used that has no value there.",
        why="Python knows a name only after a line has given it a value, or imported it.",
        fix="Look for a misspelling, a forgotten import, or a variable that only one branch "
        "or loop gives its value.",
        unknown="what is in scope there",
    )
)
explain_message_attribute = explain_by(
    TextRule(
        message=r"module 'torch(?P<inside>[\w.]*)' has no attribute '(?P<name>\w+)'",
        told="`torch{inside}` has no `{name}` in the version that is installed.",
        why="It was renamed or removed, is newer than this torch, or a file of yours is called torch.py.",
        fix="Compare `torch.__version__` with the version that the code was written for, and "
        "look the name up in the "
        "release notes.",
        unknown="the version of torch",
    )
)
explain_message_scalar_type = explain_by(
    TextRule(
        message=r"expected scalar type (?P<wanted>\w+) but found (?P<found>\w+)",
        told="an operation takes {wanted} and got {found}.",
        why="Class numbers are integers (int64); inputs, predictions and targets of a regression are float32.",
        fix="Convert the odd one: `.float()` for numbers, `.long()` for class numbers.",
        unknown=_VALUES,
    )
)
explain_message_devices = explain_by(
    TextRule(
        message=r"Expected all tensors to be on the same device",
        told="tensors of one operation are on different devices.",
        why="An operation runs on one device, and nothing is moved by itself.",
        fix="Move the model once (`model.to(device)`) and each batch in the loop (`x = "
        "x.to(device)`); make new tensors "
        "with `device=x.device`.",
        unknown="which of them",
    )
)
