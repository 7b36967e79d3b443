my_counts = {
    "million: aclrtMalloc": 4,
    "million: aclrtMemcpy": 3,
    "million: aclnnHardshrinkBackward": 1,
    "refused: aclrtMemcpy": 2,
    "refused: aclDestroyTensor": 3,
    "refused: aclnnHardshrinkBackward": 0,
    "empty: aclrtMalloc": 0,
    "empty: aclCreateTensor": 3,
    "empty: aclnnHardshrinkBackward": 1,
    "all three: aclInit": 1,
}

check("call count", my_counts)
