my_lines = """
void *workspace = nullptr;
if (workspaceSize > 0) {
    CHECK(aclrtMalloc(&workspace, workspaceSize, ACL_MEM_MALLOC_HUGE_FIRST));
}
CHECK(aclnnHardshrinkBackward(workspace, workspaceSize, executor, stream));
CHECK(aclrtSynchronizeStream(stream));
if (workspace != nullptr) {
    CHECK(aclrtFree(workspace));
}
"""

check("cpp order", my_lines)
