"""Where in an image a model sees a class: Grad-CAM, its family, and guided backpropagation."""
