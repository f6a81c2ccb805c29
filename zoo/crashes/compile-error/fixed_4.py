"""A compiled classifier with a backend that counts the operations of each graph."""
import torch
import torch.nn.functional as F
from torch import nn

COSTS = {"linear": 2, "relu": 1, "softmax": 3}


def counting(graph, inputs):
    total = 0
    for node in graph.graph.nodes:
        if node.op == "call_function":
            total += COSTS.get(node.target.__name__, 1)
    print(f"one graph, cost {total}")
    return graph.forward


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(10, 24)
        self.fc2 = nn.Linear(24, 2)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)))


torch.manual_seed(0)
x = torch.randn(128, 10)
y = (x.sum(dim=1) > 0).long()
model = torch.compile(Net(), backend=counting)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(40):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
