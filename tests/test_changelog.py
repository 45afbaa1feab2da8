"""Notes of changes: one habit, readable by the release."""

import importlib.util
from datetime import date
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
spec = importlib.util.spec_from_file_location("changelog", ROOT / "changelog.py")
changelog = importlib.util.module_from_spec(spec)
spec.loader.exec_module(changelog)


def test_every_note_has_headings_that_a_release_knows():
    section = changelog.assembled(ROOT / "changelog.d")
    assert section.startswith("### Values changed\n")
    for note in (ROOT / "changelog.d").glob("*.md"):
        assert changelog.parts(note), f"{note.name} says nothing"


def test_a_heading_that_nobody_knows_is_refused(tmp_path):
    (tmp_path / "x.md").write_text("### News\nSomething.\n")
    with pytest.raises(ValueError, match=r"x\.md must have headings among Values changed, .*'News'"):
        changelog.assembled(tmp_path)


def test_a_release_takes_the_notes_with_it(tmp_path):
    notes = tmp_path / "changelog.d"
    notes.mkdir()
    (notes / "a.md").write_text("A new thing.\n\n## Values changed\nece is larger.\n")
    (notes / "b.md").write_text("### Added\nAnother.\n")
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n<!-- releases -->\n\n## 0.1.0\n\nFirst.\n")
    changelog.release("0.2.0", tmp_path, date(2027, 1, 2))
    assert (tmp_path / "CHANGELOG.md").read_text() == (
        "# Changelog\n\n<!-- releases -->\n\n## 0.2.0 (2027-01-02)\n\n### Values changed\n\nece is larger.\n\n"
        "### Added\n\nA new thing.\nAnother.\n\n## 0.1.0\n\nFirst.\n"
    )
    assert not list(notes.iterdir())


def test_the_lock_pins_versions_that_the_project_allows():
    import tomllib

    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    lines = [line for line in (ROOT / "requirements.lock").read_text().splitlines() if not line.startswith("#")]
    pinned = {}
    for line in lines:
        name, sign, version = line.partition("==")
        assert sign and version and not set(line) & set(" @/:"), f"{line}: a name and a version, no address"
        pinned[canonicalize_name(name)] = version
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for needed in map(Requirement, [*project["dependencies"], *extras["test"], *extras["lint"]]):
        version = pinned.get(canonicalize_name(needed.name))
        assert version is None or needed.specifier.contains(version), f"{needed} against {version}: run make lock"
