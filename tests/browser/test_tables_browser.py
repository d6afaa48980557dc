"""The released tables as a reader sees them."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.browser
def test_every_released_table_fits_on_a_screen_of_1280_pixels(tab):
    beyond = {}
    for path in sorted(ROOT.glob("results/released/*/tables/*.html")):
        tab.open(path, 1280)
        table = "document.querySelector('.results')"
        beyond[str(path.relative_to(ROOT))] = tab.value(f"{table}.scrollWidth - {table}.clientWidth")
    assert len(beyond) > 30
    assert not {path: pixels for path, pixels in beyond.items() if pixels}
