"""Links of the texts of a checkout lead to its files, also where no site was built."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "tests/README.md"]


def test_relative_links_lead_to_files():
    broken = []
    for page in PAGES:
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
            target = link.partition("#")[0]
            if target and "://" not in target and not (page.parent / target).exists():
                broken.append((str(page.relative_to(ROOT)), link))
    assert not broken


def test_the_list_of_files_is_that_of_the_package():
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/map", "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
