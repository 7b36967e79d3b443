check("first fit", [(64, 0, 0), (1000, 1, 1)])
