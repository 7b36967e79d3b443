check("rounded lambda", (0.1, 0.1))
