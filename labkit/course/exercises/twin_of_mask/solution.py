check("twin of mask", (1.0, 0.5))
