"""recorded_snapshot.py - keeps a snapshot as a file of a test: with folders of a usual machine."""
import gzip
import os
import pickle

import torch


def keep(snapshot, path, program):
    """Writes it to path; its frames name the program's folder, and those of Python, as elsewhere."""
    folders = {os.path.dirname(os.path.dirname(torch.__file__)): '/opt/lib/python3/site-packages',
               os.path.dirname(os.path.dirname(os.__file__)): '/usr/lib',
               os.path.dirname(os.path.abspath(program)): '/home/user/project'}
    for entry in snapshot['device_traces'][0]:
        for frame in entry.get('frames', []):
            for folder, name in folders.items():
                frame['filename'] = frame['filename'].replace(folder, name)
    with gzip.open(path, 'wb', 6) as file:
        pickle.dump(snapshot, file)
