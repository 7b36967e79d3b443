check("late empties", ((0,), (1,), (7,)))
