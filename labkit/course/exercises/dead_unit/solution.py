check("dead unit", -2.0)
