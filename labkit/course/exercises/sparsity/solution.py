prediction = {
    "not 0 at λ = 0.5, float32": 4,
    "get a gradient at λ = 0.5, float32": 4,
    "not 0 at λ = 0.3, float16": 8,
    "get a gradient at λ = 0.3, float16": 6,
    "not 0 at λ = −1, float32": 9,
    "get a gradient at λ = −1, float32": 9,
    "units that can learn at λ = 1": [0, 3],
}

check("sparsity", prediction)
