my_launches = {
    "plain": "HardShrinkGrad",
    "fp16 gradient": "Cast, HardShrinkGrad",
    "fp16 output": "HardShrinkGrad, Cast",
    "two halves": "Cast, Cast, HardShrinkGrad",
    "row and column": "BroadcastTo, BroadcastTo, HardShrinkGrad",
    "one fits": "BroadcastTo, BroadcastTo, HardShrinkGrad",
    "turned input": "Transpose, HardShrinkGrad",
    "gapped output": "HardShrinkGrad, ViewCopy",
    "output at 16": "HardShrinkGrad",
    "empty": "",
}

check("launches", my_launches)
