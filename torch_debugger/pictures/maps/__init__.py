"""What layers hold and give, as images: filters of weights, maps of outputs."""
