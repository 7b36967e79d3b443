check("cut by share", (65, "float32"))
