def my_workspace(pieces):
    """Bytes of workspace; a piece is (bytes, first launch, last launch), in order of creation."""
    buckets = []  # of each: bytes, and the launch until which it is taken
    for size, first, last in pieces:
        taken = (size + 32 + 511) // 512 * 512
        free = [bucket for bucket in buckets if bucket[1] < first]
        if free:
            free[-1][:] = max(free[-1][0], taken), last
        else:
            buckets.append([taken, last])
    return sum(bucket[0] for bucket in buckets)


check("buckets", my_workspace)
