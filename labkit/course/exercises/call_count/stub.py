my_counts = {
    "million: aclrtMalloc": 0,
    "million: aclrtMemcpy": 0,
    "million: aclnnHardshrinkBackward": 0,
    "refused: aclrtMemcpy": 0,
    "refused: aclDestroyTensor": 0,
    "refused: aclnnHardshrinkBackward": 0,
    "empty: aclrtMalloc": 0,
    "empty: aclCreateTensor": 0,
    "empty: aclnnHardshrinkBackward": 0,
    "all three: aclInit": 0,
}

check("call count", my_counts)
