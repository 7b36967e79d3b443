from labkit.course.exercises.cpp_order.check import shown

print(shown())

my_lines = """
void *workspace = nullptr;
CHECK(aclrtMalloc(&workspace, workspaceSize, ACL_MEM_MALLOC_HUGE_FIRST));
"""

check("cpp order", my_lines)
