my_launches = {
    "plain": "HardShrinkGrad",
    "fp16 gradient": None,
    "fp16 output": None,
    "two halves": None,
    "row and column": None,
    "one fits": None,
    "turned input": None,
    "gapped output": None,
    "output at 16": None,
    "empty": None,
}

check("launches", my_launches)
