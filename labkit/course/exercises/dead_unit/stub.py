check("dead unit", 0.75)
