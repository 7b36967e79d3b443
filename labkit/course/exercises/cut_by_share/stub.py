check("cut by share", (16, "float32"))
