"""Softmax regression on blobs; the device comes from the command line."""
import argparse
import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=60)
args = parser.parse_args()

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
centres = 3 * torch.randn(4, 10)
labels = torch.randint(0, 4, (600,))
points = centres[labels] + torch.randn(600, 10)


def to_device(*tensors):
    return [tensor.to(DEVICE) for tensor in tensors]


points, labels = to_device(points, labels)
model = nn.Linear(10, 4).to(DEVICE)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(args.epochs):
    loss = nn.functional.cross_entropy(model(points), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 10 == 0:
        print(epoch, round(loss.item(), 3))
