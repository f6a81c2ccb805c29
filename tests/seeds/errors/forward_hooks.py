"""Hooks on every layer of three kinds, and our call for two of them."""

import torch
from torch import nn

import torch_debugger


def listen(net):
    heard = {}

    def hook_for(path):
        def hook(module, inputs, output):
            heard[path] = output.detach()

        return hook

    for path, module in net.named_modules():
        if isinstance(module, (nn.Conv1d, nn.Linear, nn.ReLU)):
            module.register_forward_hook(hook_for(path))
    return heard


torch.manual_seed(38)
net = nn.Sequential(nn.Conv1d(2, 5, 3), nn.ReLU(), nn.Flatten(), nn.Linear(50, 3))
waves = torch.randn(4, 2, 12)
heard = listen(net)
net(waves)
for path, values in heard.items():
    print(f"{path}: {tuple(values.shape)} {values.min():.3f} to {values.max():.3f}")
print(torch_debugger.activations(net, waves, layers=[nn.Conv1d, nn.Linear]))
