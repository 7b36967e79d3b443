check("late empties", ((0,), (5,), (7,)))
