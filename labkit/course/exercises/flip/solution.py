check("flip", (0.7, 0.7))
