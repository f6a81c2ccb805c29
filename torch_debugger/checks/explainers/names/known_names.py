"""Names that PyTorch removed or renamed, that other libraries have, or that tutorials invent: what to write."""

from __future__ import annotations

from dataclasses import dataclass

REMOVED = "PyTorch removed it; the line is written for an older version"
INVENTED = "No release of PyTorch has it"
NUMPY = "It is numpy's name"
KERAS = "It is a name of Keras"


@dataclass(frozen=True, slots=True)
class Known:
    """What to write in place of a name that does not exist."""

    why: str
    instead: str  # the advice, after "Use"
    drop_in: str = ""  # what takes the place of owner and name, with the same arguments: torch.fft.ifft
    rename: str = ""  # what takes the place of the name alone: clone
    around: str = ""  # the function that takes the place of the method: next
    ours: str = ""  # the name of ours that does what was meant


_ARGUMENTS = "its arguments are in the other order"
KNOWN = {
    # the debugging tools that tutorials describe
    "torch.distributed.Watchdog": Known(
        INVENTED,
        "`init_process_group(..., timeout=timedelta(minutes=5))`: a collective that waits longer then fails",
        ours="Watchdog",
    ),
    "torch.cuda.memory.snapshot": Known(
        INVENTED,
        "`torch.cuda.memory_stats()` for totals; `torch.cuda.memory_snapshot()` lists the allocator's "
        "segments, "
        "and `torch.cuda.memory._dump_snapshot(\"mem.pickle\")` writes them for pytorch.org/memory_viz",
        ours="memory.snapshot",
    ),
    "torch.cuda.snapshot": Known(
        INVENTED, "`torch.cuda.memory_stats()` for totals, `torch.cuda.memory_snapshot()` for "
                  "segments", ours="memory.snapshot"
    ),
    "torch.cuda.memory_snapshot().stats": Known(
        "The snapshot is a plain list of the allocator's segments",
        "`torch.cuda.memory_stats()`, a dictionary of totals, or `torch.cuda.memory_summary()`, a table to "
        "print",
        ours="memory.snapshot",
    ),
    # linear algebra, since 1.9
    "torch.symeig": Known(REMOVED, "`torch.linalg.eigh(A)`, which returns values and vectors"),
    "torch.eig": Known(REMOVED, "`torch.linalg.eig(A)`, which returns complex values and vectors"),
    "torch.lstsq": Known(REMOVED, f"`torch.linalg.lstsq(A, B).solution`; {_ARGUMENTS}"),
    "torch.gels": Known(REMOVED, f"`torch.linalg.lstsq(A, B).solution`; {_ARGUMENTS}"),
    "torch.solve": Known(REMOVED, f"`torch.linalg.solve(A, B)`; {_ARGUMENTS}"),
    "torch.gesv": Known(REMOVED, f"`torch.linalg.solve(A, B)`; {_ARGUMENTS}"),
    "torch.matrix_rank": Known(REMOVED, "`torch.linalg.matrix_rank`", drop_in="torch.linalg.matrix_rank"),
    "torch.qr": Known(REMOVED, "`torch.linalg.qr`", drop_in="torch.linalg.qr"),
    "torch.cholesky": Known(REMOVED, "`torch.linalg.cholesky`", drop_in="torch.linalg.cholesky"),
    "torch.potrf": Known(REMOVED, "`torch.linalg.cholesky`", drop_in="torch.linalg.cholesky"),
    "torch.btrifact": Known(REMOVED, "`torch.linalg.lu_factor`", drop_in="torch.linalg.lu_factor"),
    "torch.norm_except_dim": Known(REMOVED, "`torch.linalg.vector_norm` with `dim`"),
    # Fourier transforms, since 1.8: functions became the module torch.fft, with complex tensors
    "torch.rfft": Known(
        REMOVED, "`torch.fft.rfft(x)` (`rfft2`, `rfftn` for more dimensions); its result is complex, without "
                 "signal_ndim"
    ),
    "torch.irfft": Known(
        REMOVED, "`torch.fft.irfft(x)` (`irfft2`, `irfftn`); it takes a complex tensor, without signal_ndim"
    ),
    "torch.ifft": Known(REMOVED, "`torch.fft.ifft(x)` (`ifft2`, `ifftn`); it takes a complex tensor"),
    "torch.fft": Known(
        "Since PyTorch 1.8 it is a "
        "module", "`torch.fft.fft(x)` (`fft2`, `fftn`), on a complex tensor or a real one"
    ),
    # modules that went
    "torch.utils.ffi": Known(REMOVED, "`torch.utils.cpp_extension`: C++ and CUDA extensions took its place"),
    "torch._six": Known(
        REMOVED,
        "Python itself: `str` for `string_classes`, `collections.abc` for `container_abcs`, `math.inf` for "
        "`inf`",
    ),
    "torch.utils.trainer": Known(REMOVED, "a loop of your own"),
    "torch.legacy": Known(REMOVED, "`torch.nn`"),
    "torch.nn.backends": Known(REMOVED, "`torch.nn.functional`"),
    "torch.Variable": Known("Since PyTorch 0.4 tensors do that "
                            "themselves", "the tensor itself, without a wrapper"),
    "torch.no_gradient": Known(INVENTED, "`torch.no_grad`", rename="no_grad"),
    # names of other libraries
    "torch.to_tensor": Known(INVENTED, "`torch.tensor` or `torch.from_numpy`", rename="tensor"),
    "torch.array": Known(NUMPY, "`torch.tensor`", rename="tensor"),
    "torch.asscalar": Known(NUMPY, "`x.item()`"),
    "torch.expand_dims": Known(NUMPY, "`torch.unsqueeze`", rename="unsqueeze"),
    "torch.reduce_mean": Known("It is a name of TensorFlow", "`torch.mean`", rename="mean"),
    "torch.reduce_sum": Known("It is a name of TensorFlow", "`torch.sum`", rename="sum"),
    "torch.set_seed": Known(INVENTED, "`torch.manual_seed`", rename="manual_seed"),
    "torch.random_seed": Known(INVENTED, "`torch.manual_seed`", rename="manual_seed"),
    "torch.float_": Known(NUMPY, "`torch.float64`", rename="float64"),
    "torch.nn.Dense": Known(KERAS, "`nn.Linear(in_features, out_features)`"),
    "torch.nn.Swish": Known("PyTorch has another name for it", "`nn.SiLU`", rename="SiLU"),
    "torch.nn.Reshape": Known(INVENTED, "`nn.Unflatten(dim, sizes)`, or `x.view(...)` in forward"),
    "torch.nn.BatchNorm": Known(INVENTED, "`nn.BatchNorm1d`, `nn.BatchNorm2d` or `nn.BatchNorm3d`"),
    "torch.nn.Conv": Known(INVENTED, "`nn.Conv1d`, `nn.Conv2d` or `nn.Conv3d`"),
    "torch.nn.GlobalAveragePooling2D": Known(KERAS, "`nn.AdaptiveAvgPool2d(1)`"),
    "torch.nn.GlobalAvgPool2d": Known(INVENTED, "`nn.AdaptiveAvgPool2d(1)`"),
    "torch.Tensor.astype": Known(NUMPY, "`x.to(torch.float32)` (or another dtype), or `x.float()`"),
    "torch.Tensor.copy": Known(NUMPY, "`x.clone()`; `x.detach().clone()` outside the graph", rename="clone"),
    "torch.Tensor.append": Known("A tensor has a fixed "
                                 "size", "`torch.cat([x, y])`, or a list and `torch.stack` at the end"),
    "torch.Tensor.get_shape": Known("It is a name of TensorFlow", "`x.shape`"),
    "torch.Tensor.expand_dims": Known(NUMPY, "`x.unsqueeze(dim)`", rename="unsqueeze"),
    "torch.Tensor.assign": Known("It is a name of "
                                 "TensorFlow", "`x.copy_(y)` under `torch.no_grad()`", rename="copy_"),
    "torch.Tensor.zero_grad": Known(
        "Only modules and optimizers have it", "`x.grad = None`, or `x.grad.zero_()` where there is one"
    ),
    "torch.Tensor.zero_gradients": Known(INVENTED, "`x.grad = None`, or `x.grad.zero_()` where there is one"),
    "torch.Tensor.as_numpy": Known(INVENTED, "`x.detach().cpu().numpy()`"),
    "torch.Tensor.to_numpy": Known("It is a name of pandas", "`x.detach().cpu().numpy()`"),
    "torch.Tensor.step": Known("Optimizers make the step", "`optimizer.step()`"),
    # optimizers, modules and loaders
    "torch.optim.Optimizer.backward": Known("The loss has the graph", "`loss.backward()`, then "
                                                                      "`optimizer.step()`"),
    "torch.optim.Optimizer.minimize": Known(
        "It is a name of TensorFlow", "`optimizer.zero_grad()`, `loss.backward()`, `optimizer.step()`"
    ),
    "torch.optim.Optimizer.apply_gradients": Known(KERAS, "`optimizer.step()`, after `loss.backward()`"),
    "torch.optim.Optimizer.lr": Known(
        "Each parameter group has its own", '`optimizer.param_groups[0]["lr"]`'
    ),
    "torch.optim.Optimizer.get_lr": Known("Each parameter group has its "
                                          "own", '`optimizer.param_groups[0]["lr"]`'),
    "torch.nn.Module.fit": Known(KERAS, "a training loop: forward, loss, `loss.backward()`, "
                                        "`optimizer.step()`"),
    "torch.nn.Module.predict": Known(KERAS, "the call `model(x)`, under `torch.no_grad()` and after "
                                            "`model.eval()`"),
    "torch.nn.Module.summary": Known(KERAS, "`print(model)`"),
    "torch.nn.Module.evaluate": Known(KERAS, "`model.eval()` and a loop over the data under `torch.no_grad()`"),
    "torch.nn.Module.save": Known(KERAS, "`torch.save(model.state_dict(), path)`"),
    "torch.nn.Module.save_weights": Known(KERAS, "`torch.save(model.state_dict(), path)`"),
    "torch.nn.Module.load_weights": Known(KERAS, "`model.load_state_dict(torch.load(path))`"),
    "torch.nn.Module.load": Known(INVENTED, "`model.load_state_dict(torch.load(path))`"),
    "torch.nn.Module.trainable_variables": Known(KERAS, "`model.parameters()`", rename="parameters()"),
    "torch.nn.Module.get_weights": Known(KERAS, "`model.state_dict()`", rename="state_dict"),
    "torch.nn.Module.device": Known(
        "A module may have parameters on several devices", "`next(model.parameters()).device`"
    ),
    "torch.nn.Module.backward": Known("The loss has the graph", "`loss.backward()`"),
    "torch.nn.Module.shape": Known("Only tensors have a "
                                   "shape", "the shape of what it returns: `model(x).shape`"),
    "torch.utils.data.dataloader._BaseDataLoaderIter.next": Known(
        "Since Python 3 iterators have no such method", "`next(iterator)`", around="next"
    ),
}  # fmt: skip

# Keywords that other libraries or older releases use; taken only where the function has the real one.
SYNONYMS = {
    "learning_rate": ("lr",), "alpha": ("lr",), "decay": ("weight_decay",), "l2": ("weight_decay",),
    "beta1": ("betas",), "beta_1": ("betas",), "epsilon": ("eps",),
    "n_workers": ("num_workers",), "workers": ("num_workers",), "batchsize": ("batch_size",),
    "bs": ("batch_size",),
    "transform": ("collate_fn",), "pin": ("pin_memory",),
    "prob": ("p",), "rate": ("p",), "dropout_rate": ("p", "dropout"), "probability": ("p",),
    "axis": ("dim",), "axes": ("dim", "dims"), "keepdims": ("keepdim",), "dimension": ("dim",), "ord": ("p",),
    "kernel": ("kernel_size",), "filter_size": ("kernel_size",), "strides": ("stride",), "pad": ("padding",),
    "filters": ("out_channels",), "in_dim": ("in_features", "in_channels"),
    "out_dim": ("out_features", "out_channels"),
    "input_dim": ("in_features", "num_embeddings", "input_size"),
    "output_dim": ("out_features", "embedding_dim"),
    "input_features": ("in_features",), "output_features": ("out_features",),
    "units": ("out_features", "hidden_size"),
    "n_layers": ("num_layers",), "layers": ("num_layers",), "hidden_dim": ("hidden_size",),
    "use_bias": ("bias",),
    "heads": ("num_heads", "nhead"), "n_heads": ("num_heads", "nhead"), "num_heads": ("nhead",),
    "nhead": ("num_heads",),
    "vocab_size": ("num_embeddings",), "scale": ("scale_factor",), "features": ("num_features",),
    "step": ("step_size",), "factor": ("gamma",), "retain_variables": ("retain_graph",),
    "async": ("non_blocking",),
    "asynchronous": ("non_blocking",), "max_grad_norm": ("max_norm",), "clip_value": ("max_norm", "clip_value"),
    "weights": ("weight",), "average": ("reduction",), "from_logits": (), "size": ("scale_factor",),
}  # fmt: skip

# Calls whose invented keywords have a story of their own.
INVENTED_KEYWORDS = {
    "torch.autograd.detect_anomaly": Known(
        "No release of PyTorch has such options",
        "`torch.autograd.detect_anomaly(check_nan=True)`: it looks for NaN in gradients only, not for Inf",
        ours="detect_anomaly",
    ),
    "torch.cuda.amp.autocast": Known(
        "This form is for CUDA alone and takes no device",
        '`torch.amp.autocast("cuda")`, where the device comes first',
        drop_in="torch.amp.autocast",
    ),
}

# What a bare name that is not defined most likely stands for.
IMPORTS = {
    "torch": "import torch", "nn": "from torch import nn", "F": "import torch.nn.functional as F",
    "optim": "from torch import optim", "np": "import numpy as np", "Tensor": "from torch import Tensor",
    "DataLoader": "from torch.utils.data import DataLoader", "Dataset": "from torch.utils.data import Dataset",
    "TensorDataset": "from torch.utils.data import TensorDataset",
    "random_split": "from torch.utils.data import random_split",
    "SummaryWriter": "from torch.utils.tensorboard import SummaryWriter",
    "autocast": "from torch.amp import autocast", "GradScaler": "from torch.amp import GradScaler",
    "Variable": "from torch.autograd import Variable", "torch_debugger": "import torch_debugger",
    "DDP": "from torch.nn.parallel import DistributedDataParallel as "
           "DDP", "dist": "import torch.distributed as dist",
    "lr_scheduler": "from torch.optim import lr_scheduler",
    "pad_sequence": "from torch.nn.utils.rnn import pad_sequence", "plt": "import matplotlib.pyplot as plt",
}  # fmt: skip

# Packages around torch: what to install, or what took their place.
PACKAGES = {
    "torchvision": "`pip install torchvision`, in the version that goes with this torch",
    "torchaudio": "`pip install torchaudio`, in the version that goes with this torch",
    "torchmetrics": "`pip install torchmetrics`",
    "torchinfo": "`pip install torchinfo`",
    "torchsummary": "`pip install torchinfo` and `from torchinfo import summary`: torchsummary is no longer "
                    "maintained",
    "tensorboard": "`pip install tensorboard`",
    "tensorboardX": "`pip install tensorboardX`, or `from torch.utils.tensorboard import SummaryWriter`",
    "torchtext": "plain Python and `torch.nn.utils.rnn.pad_sequence`: torchtext is no longer developed, and "
                 "its "
    "`legacy` part went in version 0.12",
    "pytorch_lightning": "`pip install pytorch-lightning`, or `lightning` under its newer name",
    "lightning": "`pip install lightning`",
    "apex": "`torch.amp.autocast` and `torch.amp.GradScaler`: what apex.amp did is part of torch",
    "fvcore": "`pip install fvcore`",
    "transformers": "`pip install transformers`",
    "safetensors": "`pip install safetensors`",
}  # fmt: skip
