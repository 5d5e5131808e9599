"""Of the stand-in: the leaves of nested values."""


def tree_leaves(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in tree_leaves(item)]
    return [] if value is None else [value]
