def my_half_backward(grad, x, lambd):
    return np.where(np.abs(x) <= lambd, x.dtype.type(0), grad)  # yours to change


check("half backward", my_half_backward)
