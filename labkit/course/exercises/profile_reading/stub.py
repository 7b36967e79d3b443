my_reading = {
    "A": "plain",  # yours to change
    "B": None,
    "C": None,
    "D": None,
    "wrong line of D": None,
}

check("profile reading", my_reading)
