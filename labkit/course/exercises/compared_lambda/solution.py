predictions = {
    "0.3: self fp16, grad fp16": np.float16(0.3),
    "0.3: self fp16, grad fp32": np.float32(0.3),
    "0.3: self bf16, grad bf16": np.float32(0.3),
    "-0.3: self fp16, grad fp16": 0,
    "70000: self fp16, grad fp16": np.inf,
    "70000: self bf16, grad fp16": 70000,
    "1e-8: self fp16, grad fp16": 0,
    "16777217: self fp32, grad fp32": 16777216,
}

check("compared lambda", predictions)
