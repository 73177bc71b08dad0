"""Compute metrics of lists by ranx: ``pip install ranx==0.3.21; python ranx_values.py`` writes ranx.json."""

from __future__ import annotations

import json
import random
from pathlib import Path

METRICS = ["map", "map@4", "precision@4", "recall@4", "f1@4", "r-precision", "mrr"]
METRICS += [f"{name}{cutoff}" for cutoff in ("", "@4") for name in ("ndcg", "ndcg_burges")]


def lists() -> list[tuple[list[float], int]]:
    """Grades in served order, with something relevant by every tool's standards, and how many of them are served."""
    drawn = random.Random(0)
    found: list[tuple[list[float], int]] = []
    while len(found) < 60:
        grades = drawn.choices((0, 0, 0.5, 1, 2, 3) if len(found) % 2 else (0, 0, 1, 2, 3), k=drawn.randint(1, 14))
        if max(grades) >= 1:
            found.append((grades, drawn.randint(1, 14) if len(found) % 4 == 0 else len(grades)))
    return found


if __name__ == "__main__":
    from importlib.metadata import version

    import ranx

    cases = lists()
    named = [{f"d{place:02}": grade for place, grade in enumerate(grades)} for grades, _ in cases]
    qrels = {f"{row:03}": {name: grade for name, grade in one.items() if grade} for row, one in enumerate(named)}
    run = {
        f"{row:03}": {name: -float(place) for place, name in enumerate([*one][:length])}
        for row, (one, (_, length)) in enumerate(zip(named, cases, strict=True))
    }
    values = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), list(METRICS), return_mean=False)
    records = [
        {"grades": grades, "served": length, **{name: float(values[name][row]) for name in METRICS}}
        for row, (grades, length) in enumerate(cases)
    ]
    about = {"made_by": "ranx_values.py", "version": f"ranx {version('ranx')}"}
    Path(__file__).with_name("ranx.json").write_text(json.dumps(about | {"records": records}), encoding="utf-8")
