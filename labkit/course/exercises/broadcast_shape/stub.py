def my_shape(grad, own):
    result = []
    for a, b in zip(grad, own):  # yours to change
        result.append(max(a, b))
    return tuple(result)


check("broadcast shape", my_shape)
