def cut(total, dtype_number, cores):
    block_factor = -(-total // cores)
    block_dim = -(-total // block_factor)
    return block_dim, block_factor, dtype_number + (256 if total > 1024 else 0)


my_cuts = {
    "16 fp16 on 72 cores": cut(16, 1, 72),
    "73 fp32 on 72 cores": cut(73, 0, 72),
    "1000 fp32 on 8 cores": cut(1000, 0, 8),
    "1024 bf16 on 56 cores": cut(1024, 27, 56),
    "1025 bf16 on 72 cores": cut(1025, 27, 72),
    "a million fp16 on 56 cores": cut(1_000_000, 1, 56),
}

check("block dim", my_cuts)
