"""All contracts: compute them, tell how they differ from the files beside this one, and write those files."""

from __future__ import annotations

import difflib
import json
import sys
from pathlib import Path

from tests.contracts.frozen import (
    answer_tables,
    commands,
    counts,
    formats,
    names,
    refusals,
    results,
    results_in_python,
    stored_tables,
)

FOLDER = Path(__file__).parent
CHAPTERS = (counts, answer_tables, commands, refusals, formats, names, stored_tables, results, results_in_python)
CONTRACTS = {name: compute for chapter in CHAPTERS for name, compute in chapter.CONTRACTS.items()}


def text_of(name: str) -> str:
    """Compute a contract, as the text of its file."""
    return json.dumps(CONTRACTS[name](), indent=1, ensure_ascii=False) + "\n"


def difference(name: str, now: str) -> str:
    """Tell the lines in which a contract differs from its file, with the case above each; nothing if it is kept."""
    path = FOLDER / f"{name}.json"
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = difflib.unified_diff(
        before.splitlines(), now.splitlines(), f"{name}, kept", f"{name}, now", n=4, lineterm=""
    )
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Print what differs; with --write, keep it. Names of contracts choose some of them."""
    chosen = [name for name in arguments if name != "--write"] or list(CONTRACTS)
    if unknown := sorted(set(chosen) - set(CONTRACTS)):
        print(f"no such contract: {', '.join(unknown)}. There are: {', '.join(CONTRACTS)}", file=sys.stderr)
        return 2
    changed = 0
    for name in chosen:
        now = text_of(name)
        different = difference(name, now)
        changed += bool(different)
        print(different or f"{name}: as it was")
        if different and "--write" in arguments:
            (FOLDER / f"{name}.json").write_text(now, encoding="utf-8")
    return int(changed > 0 and "--write" not in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
