"""conftest.py - --batch: what the project's training takes."""
import pytest


def pytest_addoption(parser):
    parser.addoption('--batch', type=int, default=8)


@pytest.fixture
def batch(request):
    return request.config.getoption('--batch')
