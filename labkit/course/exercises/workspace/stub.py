my_bytes = {
    "all fp32": None,  # gradOutput, self and gradInput are float32 (4, 4)
    "a million": None,  # the same with (1000, 1000)
    "empty": None,  # the same with (0, 4)
    "fp16 grad": None,  # gradOutput is float16 (4, 4), the other two float32 (4, 4)
    "column grad": None,  # gradOutput is float32 (4, 1), the other two float32 (4, 4)
    "gaps in out": None,  # float32 (4, 4), gradInput with strides (8, 1) in a storage (4, 8)
}

check("workspace", my_bytes)
