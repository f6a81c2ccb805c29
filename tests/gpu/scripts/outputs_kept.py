"""Keeps the features of a whole epoch for a plot."""
import torch
import torch.nn as nn

torch.manual_seed(0)
device = torch.device("cuda")
torch.cuda.set_per_process_memory_fraction(0.1)
encoder = nn.Linear(256, 65536).to(device)
features = []
with torch.no_grad():
    for batch in range(500):
        x = torch.randn(1024, 256, device=device)
        features.append(encoder(x))
print(torch.cat(features).shape)
