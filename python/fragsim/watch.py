"""watch.py - python -m fragsim.watch train.py: explains an out-of-memory of the program."""
from ._watching import main

if __name__ == "__main__":
    main()
