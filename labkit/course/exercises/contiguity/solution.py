def my_contiguous(shape, strides):
    if np.prod(shape) <= 1:  # no element, or one: nothing can lie wrongly
        return True
    expected = 1
    for size, stride in zip(shape[::-1], strides[::-1]):  # from the last axis
        if size == 1:
            continue  # nobody ever takes a step along this axis
        if stride != expected:
            return False
        expected *= size
    return True


check("contiguity", my_contiguous)
