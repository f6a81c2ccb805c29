"""Two tasks on one encoder: which class, and how large."""
import torch
import torch.nn as nn

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 16), nn.Tanh())
class_head = nn.Linear(16, 3)
size_head = nn.Linear(16, 1)
parameters = [*encoder.parameters(), *class_head.parameters(), *size_head.parameters()]
optimizer = torch.optim.Adam(parameters, lr=3e-3)
centers = torch.randn(3, 12)

for step in range(120):
    labels = torch.randint(0, 3, (64,))
    sizes = 0.5 + torch.rand(64, 1)
    x = centers[labels] * sizes + 0.1 * torch.randn(64, 12)
    features = encoder(x)
    class_loss = nn.functional.cross_entropy(class_head(features), labels)
    size_loss = nn.functional.mse_loss(size_head(features), sizes)
    optimizer.zero_grad()
    class_loss.backward(retain_graph=True)
    size_loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step} class {class_loss.item():.3f} size {size_loss.item():.3f}")
