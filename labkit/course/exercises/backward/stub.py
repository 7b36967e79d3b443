def my_backward(grad_output, x, lambd):
    return grad_output * (np.abs(x) > lambd)  # yours to change


check("backward", my_backward)
