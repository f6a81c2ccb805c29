"""Keeps a large table of features on the device and multiplies parts of it."""
import torch

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
parts = []
try:
    while len(parts) < 100_000:
        parts.append(torch.empty(2**20, device=device))
except torch.OutOfMemoryError:
    print("the table has", len(parts), "parts")

left, right = parts[0].view(1024, 1024), parts[1].view(1024, 1024)
torch.mm(left, right, out=parts[2].view(1024, 1024))
print("done")
