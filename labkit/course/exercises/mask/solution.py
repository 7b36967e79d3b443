def my_mask(x, lambd):
    limit = np.float32(0 if lambd < 0 else lambd)
    return ~(np.abs(x) <= limit)


check("mask", my_mask)
