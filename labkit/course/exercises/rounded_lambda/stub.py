check("rounded lambda", (0.5, 0.5))
