"""sitecustomize.py - what `fragsim record --torch` puts in front of a Python program.

Python imports a module of this name before the program begins. This one starts the recorder beside
it, takes its folder off the path again, and is then replaced by the module of the same name that
would have been imported without it. Any Python reads it, whatever its version.
"""
import os
import sys


def start(folder):
    if sys.version_info < (3, 8):
        sys.stderr.write("fragsim: Python %d.%d is too old to be recorded: 3.8 or newer is"
                         " required\n" % sys.version_info[:2])
        return
    from importlib import util
    spec = util.spec_from_file_location("fragsim_recording", os.path.join(folder, "recording.py"))
    module = sys.modules[spec.name] = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.begin()


def hand_over(here):
    """The program's own module of this name; where it fails, that is the program's affair."""
    sys.path[:] = [place for place in sys.path if os.path.abspath(place) != here]
    if sys.version_info < (3, 8):
        return
    from importlib import machinery, util
    spec = machinery.PathFinder.find_spec(__name__, sys.path)
    if spec and spec.loader:
        module = sys.modules[__name__] = util.module_from_spec(spec)
        spec.loader.exec_module(module)


HERE = os.path.dirname(os.path.abspath(__file__))
try:
    start(os.path.dirname(HERE))
except Exception as error:  # a program that is recorded must run all the same
    sys.stderr.write("fragsim: nothing is recorded: %s\n" % error)
hand_over(HERE)
