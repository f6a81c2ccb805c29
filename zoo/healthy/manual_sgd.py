"""A two-layer network from plain tensors, updated by hand; no Module, no optimizer."""
import torch

torch.manual_seed(0)
x = torch.randn(256, 10)
y = torch.tanh(x @ torch.randn(10, 3))

w1 = (torch.randn(10, 40) / 10**0.5).requires_grad_()
b1 = torch.zeros(40, requires_grad=True)
w2 = (torch.randn(40, 3) / 40**0.5).requires_grad_()
b2 = torch.zeros(3, requires_grad=True)

learning_rate = 0.2
for t in range(300):
    hidden = torch.relu(x @ w1 + b1)
    y_pred = hidden @ w2 + b2
    loss = (y_pred - y).pow(2).mean()
    if t % 50 == 0:
        print(t, loss.item())
    loss.backward()
    with torch.no_grad():
        for w in (w1, b1, w2, b2):
            w -= learning_rate * w.grad
            w.grad.zero_()
