"""Refuses to start twice on one machine, by a port of its own."""
import socket

import torch
from torch import nn


def claim(port):
    server = socket.socket()
    try:
        server.bind(("127.0.0.1", port))
    except OSError as error:
        raise RuntimeError(f"another training holds port: {port}, name: EADDRINUSE, address already in use") from error
    server.listen()
    return server


first = claim(29541)
model = nn.Linear(4, 2)
second = claim(29541)
print(model(torch.randn(2, 4)))
