check("twin of select", (-2.0, 0.25))
