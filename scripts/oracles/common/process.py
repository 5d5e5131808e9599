"""process.py - a driver that is a program of its own, as a conversation.

What it says on standard error is thrown away: RMM logs each refusal there.
"""
import subprocess
from collections.abc import Generator

from case import OracleError


def talk_to(command: list, environment: dict | None = None) -> Generator[str, str, None]:
    """Yields the first answer, and then one for each line that is sent."""
    with subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          bufsize=1, env=environment) as driver:
        try:
            while True:
                answer = driver.stdout.readline()
                if not answer:
                    raise OracleError('the driver ended with status %s' % driver.wait())
                driver.stdin.write((yield answer.rstrip('\n')) + '\n')
                driver.stdin.flush()
        finally:
            driver.stdin.close()
