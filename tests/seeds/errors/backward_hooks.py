"""Full backward hooks on every layer with weights, and our call for the same."""

import torch
from torch import nn

import torch_debugger


def listen(net):
    heard = {}

    def hook_for(path):
        def hook(module, grad_input, grad_output):
            heard[path] = grad_output[0].detach()

        return hook

    for path, module in net.named_modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            module.register_full_backward_hook(hook_for(path))
    return heard


torch.manual_seed(39)
net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.Sigmoid(), nn.Flatten(), nn.Linear(64, 2))
images = torch.rand(3, 1, 6, 6)
print(torch_debugger.gradients(net, images, loss=lambda scores: scores.sum(), layers=[nn.Conv2d, nn.Linear]))
heard = listen(net)
net(images).sum().backward()
for path, gradient in heard.items():
    print(f"{path}: {gradient.norm().item():.4f}")
