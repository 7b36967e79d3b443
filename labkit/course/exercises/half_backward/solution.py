def my_half_backward(grad, x, lambd):
    limit = np.float32(0 if lambd < 0 else lambd)
    if grad.dtype == x.dtype == np.float16:
        limit = np.float32(np.float16(limit))
    if grad.dtype != x.dtype:
        grad = grad.astype(np.float32)
    dead = np.abs(x.astype(np.float32)) <= limit
    return np.where(dead, grad.dtype.type(0), grad)


check("half backward", my_half_backward)
