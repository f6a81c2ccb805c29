"""How values are spread: weights and outputs as histograms."""
