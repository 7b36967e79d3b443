my_lines = {"A": 17, "B": 16, "C": 8, "D": 2, "E": 15, "F": 14}

check("missing step", my_lines)
