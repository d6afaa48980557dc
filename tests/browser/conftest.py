import pytest
from chromium import browser, executable


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    if executable() is None:
        pytest.skip("no Chromium or Chrome is installed (Debian: apt-get install chromium)")
    with browser(tmp_path_factory.mktemp("browser")) as page:
        yield page
