def my_shape(grad, own):
    if max(len(grad), len(own)) > 8:
        return None
    if 0 in grad or 0 in own:
        return "any"
    rank = max(len(grad), len(own))
    result = []
    for a, b in zip((1,) * (rank - len(grad)) + grad, (1,) * (rank - len(own)) + own):
        if a != b and 1 not in (a, b):
            return None
        result.append(max(a, b))
    return tuple(result)


check("broadcast shape", my_shape)
