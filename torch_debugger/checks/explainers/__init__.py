"""How crash checks read a crash: one file per kind of thing that can disagree with another."""
