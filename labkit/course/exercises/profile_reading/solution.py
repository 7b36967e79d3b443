my_reading = {
    "A": "fp16 output",
    "B": "gapped output",
    "C": "two halves",
    "D": "fp16 gradient",
    "wrong line of D": 4,
}

check("profile reading", my_reading)
