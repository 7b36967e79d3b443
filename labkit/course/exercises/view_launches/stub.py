launches = {
    "x[3:]": ["HardShrinkGrad"],  # yours to change, all six
    "x[::2]": ["HardShrinkGrad"],
    "x[:, ::2]": ["HardShrinkGrad"],
    "x[:, 3:].T": ["HardShrinkGrad"],
    "x[::-1]": ["HardShrinkGrad"],
    "np.broadcast_to(x[:, 3:4], (8, 8))": ["HardShrinkGrad"],
}

check("view launches", launches)
