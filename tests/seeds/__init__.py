"""What five tutorials on debugging PyTorch teach, as programs: README.md."""
