"""terminal.py - a terminal that a test's program writes to."""

import fcntl
import os
import pty
import struct
import termios
import threading

# no program of ours writes it
END = b'\0'


class Terminal:
    """The descriptor `fd` of a terminal of so many columns, and what it has shown.

    Whoever reads a terminal may be told that nobody writes to it any more before it was given
    all that was written. So this one stays open here, and what is written last is a byte that
    the reader waits for.
    """

    def __init__(self, columns=80, rows=24):
        self._reader, self.fd = pty.openpty()
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))
        self._data = b''
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        while not self._data.endswith(END):
            self._data += os.read(self._reader, 1 << 16)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.shown()

    def shown(self) -> bytes:
        """All that programs wrote to it, which have ended; line ends as they wrote them."""
        if self.fd >= 0:
            os.write(self.fd, END)
            self._thread.join()
            os.close(self.fd)
            os.close(self._reader)
            self.fd = -1
        return self._data[:-1].replace(b'\r\n', b'\n')
