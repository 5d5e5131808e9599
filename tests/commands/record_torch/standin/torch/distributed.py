"""Of a job: its rank, where a program has set one."""
rank = None


def is_available():
    return True


def is_initialized():
    return rank is not None


def get_rank():
    return rank
