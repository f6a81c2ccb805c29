"""Read samples that are stored as tensors."""
import os
import struct
import tempfile

import torch

path = os.path.join(tempfile.mkdtemp(), "samples.pt")
with open(path, "wb") as file:
    file.write(struct.pack("<I", 12))
with open(path, "rb") as file:
    header = file.read(8)
    if len(header) < 8:
        raise EOFError("PytorchStreamReader failed reading zip archive: failed finding central directory")
print(torch.frombuffer(header, dtype=torch.int64))
