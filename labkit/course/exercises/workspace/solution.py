piece, scratch = 512, 512 * -(-(16 * 1024**2 + 32) // 512)

my_bytes = {
    "all fp32": piece,
    "a million": piece,
    "empty": 0,
    "fp16 grad": scratch + piece,
    "column grad": scratch + 2 * piece,
    "gaps in out": 2 * piece,
}

check("workspace", my_bytes)
