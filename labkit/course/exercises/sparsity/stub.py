numbers = [-1.5, -0.75, -0.5, -0.3, -0.0, 0.25, 0.300048828125, 0.5, 0.75, float("nan")]
code = [[1.5, 0.5, -1.0, 0.25], [0.0, -0.5, 1.0, -2.0], [-0.75, 0.875, 0.5, 0.0]]

prediction = {
    "not 0 at λ = 0.5, float32": None,  # of the ten numbers
    "get a gradient at λ = 0.5, float32": None,
    "not 0 at λ = 0.3, float16": None,
    "get a gradient at λ = 0.3, float16": None,
    "not 0 at λ = −1, float32": None,
    "get a gradient at λ = −1, float32": None,
    "units that can learn at λ = 1": None,  # columns of code, as in [0, 2]
}

check("sparsity", prediction)
