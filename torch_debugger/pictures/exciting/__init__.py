"""Which of your examples excite a unit most, and where in them it looks."""
