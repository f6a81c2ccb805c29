"""A network with a log inside, a hook on every module that names the first NaN, and our call for the same."""

import torch
from torch import nn

import torch_debugger


class Scale(nn.Module):
    def forward(self, values):
        return torch.log(values)


def where_nan_begins(net, rows):
    def look(module, inputs, output):
        if torch.isnan(output).any():
            low, high = inputs[0].min().item(), inputs[0].max().item()
            print(f"NaN in {type(module).__name__}, inputs {low:.2f} to {high:.2f}")

    handles = [module.register_forward_hook(look) for module in net.modules()]
    net(rows)
    for handle in handles:
        handle.remove()


torch.manual_seed(35)
net = nn.Sequential(nn.Linear(4, 6), Scale(), nn.Linear(6, 2))
rows = torch.randn(8, 4)
where_nan_begins(net, rows)
found = torch_debugger.find_nan(net, rows)
print(bool(found), found)
