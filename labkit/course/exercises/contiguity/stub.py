def my_contiguous(shape, strides):
    expected = 1
    for size, stride in zip(shape[::-1], strides[::-1]):  # from the last axis
        if stride != expected:
            return False
        expected *= size
    return True


check("contiguity", my_contiguous)
