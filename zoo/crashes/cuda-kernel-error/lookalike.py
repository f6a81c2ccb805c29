"""Chooses a matrix product by what the device reports."""
import torch


def product(a, b, status):
    if status != 0:
        raise RuntimeError("CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`")
    return a @ b


for status in (0, 0, 1):
    print(product(torch.ones(3, 3), torch.ones(3, 3), status).sum())
