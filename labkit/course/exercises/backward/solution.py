def my_backward(grad_output, x, lambd):
    limit = np.float32(0 if lambd < 0 else lambd)
    return np.where(np.abs(x) <= limit, np.float32(0), grad_output)


check("backward", my_backward)
