def my_tiling(total, dtype, cores, ub_bytes):
    number, size, step = {
        "float32": (0, 4, 64),
        "float16": (1, 2, 128),
        "bfloat16": (27, 2, 64),
    }[dtype]
    double = total > 1024
    block_factor = -(-total // cores)
    block_dim = -(-total // block_factor)
    per_element = 3 * (2 if double else 1) * size + (8 if dtype == "bfloat16" else 0)
    cap = (ub_bytes - 16384) // per_element // step * step
    ub_factor = -(-total // step) * step if total < cap else cap
    return block_dim, block_factor, ub_factor, number + 256 * double


check("tile cut", my_tiling)
