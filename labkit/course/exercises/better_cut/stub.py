def my_cut(total, dtype, cores, ub_bytes):
    step = 128 if dtype == "float16" else 64
    return -(-total // step) * step  # a tile, or (tile, share): yours to change


check("better cut", my_cut)
