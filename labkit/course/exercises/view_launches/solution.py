launches = {
    "x[3:]": ["HardShrinkGrad"],
    "x[::2]": ["Slice", "HardShrinkGrad"],
    "x[:, ::2]": ["StridedSlice", "HardShrinkGrad"],
    "x[:, 3:].T": ["Slice", "Transpose", "HardShrinkGrad"],
    "x[::-1]": ["AsStrided", "HardShrinkGrad"],
    "np.broadcast_to(x[:, 3:4], (8, 8))": ["Slice", "BroadcastTo", "HardShrinkGrad"],
}

check("view launches", launches)
