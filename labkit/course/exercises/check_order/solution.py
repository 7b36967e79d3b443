def my_status(call):
    grad, x, out = call["gradOutput"], call["self"], call["gradInput"]
    if None in (grad, x, call["lambd"], out):
        return 161001
    for tensor in (grad, x, out):
        if tensor["dtype"] not in call["supported"]:
            return 161002
    for tensor in (grad, x, out):
        if len(tensor["shape"]) > 8:
            return 161002
    if 0 in grad["shape"] or 0 in x["shape"]:
        return 0
    try:
        common = np.broadcast_shapes(grad["shape"], x["shape"])
    except ValueError:
        return 161002
    return 0 if out["shape"] == common else 161002


check("check order", my_status)
