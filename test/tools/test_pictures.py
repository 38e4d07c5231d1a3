"""The pictures of the documentation are those that the commands make."""

from __future__ import annotations

import pytest

from tools import pictures


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_the_committed_picture_is_made_by_the_command(name: str) -> None:
    committed = (pictures.FOLDER / name).read_text("utf-8")
    assert committed == pictures.picture(name), f"docs/images/{name} is stale: run `{pictures.COMMAND}`"


def test_every_picture_is_shown_and_has_a_command() -> None:
    page = (pictures.FOLDER.parent / "pictures.md").read_text("utf-8")
    assert {path.name for path in pictures.FOLDER.iterdir()} == set(pictures.PICTURES)
    for name, (layout, *_) in pictures.PICTURES.items():
        assert f"](images/{name})" in page
        assert f"'{layout}'" in page
