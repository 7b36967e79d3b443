my_fix = {"after": 43, "add": "aclDestroyScalar(scalar);"}

check("cpp leak", my_fix)
