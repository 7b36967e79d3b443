predictions = {
    "0.3: self fp16, grad fp16": None,
    "0.3: self fp16, grad fp32": None,
    "0.3: self bf16, grad bf16": None,
    "-0.3: self fp16, grad fp16": None,
    "70000: self fp16, grad fp16": None,
    "70000: self bf16, grad fp16": None,
    "1e-8: self fp16, grad fp16": None,
    "16777217: self fp32, grad fp32": None,
}

check("compared lambda", predictions)
