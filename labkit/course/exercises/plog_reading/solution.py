import re


def my_launches(lines, call):
    """Op types that a call launched, in order; `call` is like "aclnnHardshrinkBackward_1"."""
    name = re.compile(rf"OpName:\[{call}(_\w+)?\]")
    launch = re.compile(r"\d+ start to Launch (\w+)")
    found = [launch.search(line) for line in lines if name.search(line)]
    return [match[1] for match in found if match]


check("plog reading", my_launches)
