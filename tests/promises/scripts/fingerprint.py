"""What a training script leaves in the world, as hashes on stdout; its peak memory goes to a side file."""

import hashlib
import os
import random
import re

import numpy
import torch

STEPS = 30


def start(seed: int = 0) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    numpy.random.seed(seed)
    random.seed(seed)


def digest(value: object) -> str:
    """Of tensors by their bytes, wherever they lie in dicts and lists; of all else by their repr."""
    state = hashlib.sha256()
    _feed(state, value)
    return state.hexdigest()[:16]


def _feed(state, value) -> None:
    if isinstance(value, torch.Tensor):
        state.update(f"{value.dtype}{tuple(value.shape)}".encode())
        state.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    elif isinstance(value, dict):
        for key, item in value.items():
            _feed(state, key)
            _feed(state, item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _feed(state, item)
    elif isinstance(value, bytes):
        state.update(value)
    else:
        state.update(repr(value).encode())


def show(**values: object) -> None:
    for name, value in values.items():
        print(name, digest(value), flush=True)


def show_models(*models: torch.nn.Module) -> None:
    for model in models:
        show(
            weights=model.state_dict(),
            gradients=[parameter.grad for parameter in model.parameters()],
            attributes=[sorted(vars(module)) for module in model.modules()],
        )


def finish(models, optimizers, outputs, losses) -> None:
    show_models(*models)
    show(optimizers=[optimizer.state_dict() for optimizer in optimizers], outputs=outputs, losses=losses)
    show(torch=torch.get_rng_state(), numpy=numpy.random.get_state(), random=random.getstate())
    write_peak()


def write_peak() -> None:
    """The most memory this process ever held, and how much of it now are pages of files, in bytes."""
    with open("/proc/self/status") as status:
        kilobytes = dict(re.findall(r"(VmHWM|RssFile):\s+(\d+) kB", status.read()))
    with open(os.environ["PEAK_FILE"], "w") as file:
        file.write(f"{1024 * int(kilobytes['VmHWM'])} {1024 * int(kilobytes['RssFile'])}")
