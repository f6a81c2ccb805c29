"""Traces for TensorBoard, and one more for a browser."""
import os
import tempfile

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, tensorboard_trace_handler

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
logs = tempfile.mkdtemp()

with profile(activities=[ProfilerActivity.CPU], on_trace_ready=tensorboard_trace_handler(logs)) as prof:
    for _ in range(15):
        x = torch.randn(32, 4)
        loss = nn.functional.cross_entropy(net(x), (x[:, 0] > 0).long())
        opt.zero_grad()
        loss.backward()
        opt.step()
print(loss.item())
prof.export_chrome_trace(os.path.join(logs, "trace.json"))
