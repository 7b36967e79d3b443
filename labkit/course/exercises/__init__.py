"""The exercises, a folder each; `labkit.course.exercise` says what is in one."""
