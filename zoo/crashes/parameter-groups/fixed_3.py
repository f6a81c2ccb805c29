"""Linear regression with weights made by hand."""
import torch

torch.manual_seed(0)
true_w = torch.tensor([[2.0], [-1.0], [0.5]])
x = torch.randn(200, 3)
y = x @ true_w + 0.3
w = (torch.randn(3, 1, requires_grad=True) * 0.01).detach().requires_grad_()
b = torch.zeros(1, requires_grad=True)
optimizer = torch.optim.SGD([w, b], lr=0.1)

for epoch in range(60):
    loss = ((x @ w + b - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 20 == 0:
        print(epoch, loss.item())
