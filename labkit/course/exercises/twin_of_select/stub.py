check("twin of select", (1.0, 0.25))
