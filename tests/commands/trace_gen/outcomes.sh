#!/bin/sh
# outcomes.sh - what the published cases show: outcomes.py, as a test of its own
# that runs beside run.py.
exec /usr/bin/python3 -B "$(dirname "$0")/outcomes.py" "${FRAGSIM:-build/fragsim}"
