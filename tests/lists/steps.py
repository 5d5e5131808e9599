"""steps.py - CONTRIBUTING.md: at most five steps each."""
import tree
from tap import Tap

STEPS_MAX = 5
TITLES = ('Add a policy', 'Add a metric', 'Add a command', 'Add a trace format',
          'Add an output format', 'Add a scenario')


def check(tap: Tap) -> None:
    counts = {title: len(tree.steps(title)) for title in TITLES}
    tap.result('CONTRIBUTING: one to five steps to add something', [
        f'CONTRIBUTING.md: **{title}** has {count} steps' for title, count in counts.items()
        if not 1 <= count <= STEPS_MAX], [
        f'CONTRIBUTING.md: **{title}** is there twice' for title in TITLES
        if tree.text('CONTRIBUTING.md').count(f'**{title}**') > 1])
