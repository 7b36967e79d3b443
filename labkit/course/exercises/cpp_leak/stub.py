from labkit.course.exercises.cpp_leak.check import shown

print(shown())

my_fix = {"after": None, "add": ""}

check("cpp leak", my_fix)
