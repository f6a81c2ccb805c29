"""Where the boxes and lines of a model's graph go: plain data in, places out; composing.js opens them."""
