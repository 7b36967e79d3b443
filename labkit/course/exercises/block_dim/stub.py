# (block dim, block factor, tiling key)
my_cuts = {
    "16 fp16 on 72 cores": (1, 16, 1),  # yours to change
    "73 fp32 on 72 cores": None,
    "1000 fp32 on 8 cores": None,
    "1024 bf16 on 56 cores": None,
    "1025 bf16 on 72 cores": None,
    "a million fp16 on 56 cores": None,
}

check("block dim", my_cuts)
