#!/usr/bin/python3 -B
"""run.py - holds fragsim's policy bfc against the BFC allocator that TensorFlow ships.

  run.py build                      download the wheel of tensorflow-cpu (274 MB), unpack a library
                                    and headers, and build the driver; a folder: no download
  run.py fuzz 2000                  compare 2,000 random cases; the ones that differ are shrunk
  run.py compare TRACE...           compare traces; --key garbage_collection=true, --device-bytes
  run.py shrink TRACE | --seed N    the shortest case that differs, as a golden test has it
  run.py expect TRACE               what TensorFlow does: the placements, or with --metrics the rows
  run.py goldens 20 --write FOLDER  short cases as golden tests
  run.py show --seed N              the random case itself, as a trace

The exit status is 0 where all agree, 1 where something differs, 2 where the work cannot be done.
README.md tells more.
"""
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / 'common')]

from bfc import Bfc         # noqa: E402
from tool import main       # noqa: E402

if __name__ == '__main__':
    sys.exit(main(Bfc(), __doc__))
