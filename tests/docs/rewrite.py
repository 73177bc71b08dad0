"""Run the tutorial and its notebook, and write what they show now; also their pictures."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat

from tests.docs.shown_commands import printed_by
from tests.docs.tutorial_notebook import NOTEBOOK, executed, stored
from tests.docs.tutorial_page import DOCS, PAGE, TRAINING, blocks, replayed, rewritten, titled
from tests.reports.browser import SILENT, find_browser

PICTURES = DOCS / "images"

LATEX = r"""\documentclass{article}
\usepackage[paperwidth=150mm,paperheight=55mm,margin=5mm,top=3mm]{geometry}
\usepackage[T1]{fontenc}\usepackage{lmodern}\usepackage{booktabs}\usepackage{siunitx}
\pagestyle{empty}\setlength{\intextsep}{0pt}\makeatletter\def\fps@table{h}\makeatother
\begin{document}
%s
\end{document}
"""


def main() -> None:
    """Write page, notebook and pictures."""
    page = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        training = titled(page, "train.py")
        (folder / "train.py").write_text(training, encoding="utf-8")
        print("training nine models ...")
        printed = printed_by(TRAINING, folder)
        outputs = list(replayed(page, folder, {TRAINING: printed}))
        page = rewritten(page, outputs)
        PAGE.write_text(page, encoding="utf-8")
        shutil.copy(folder / "leaderboard.svg", PICTURES / "tutorial-leaderboard.svg")
        picture_of_page(folder / "report.html")
        picture_of_table(next(block.text for block in blocks(page) if r"\begin{table}" in block.text), folder)
        nbformat.write(executed(stored(), folder, training, printed), NOTEBOOK)
    print(f"written: {PAGE}, {NOTEBOOK}")


def picture_of_page(page: Path) -> None:
    """Photograph the top of a page."""
    browser = find_browser()
    if browser is None:
        print("without Chromium, the picture of the page stays as it is", file=sys.stderr)
        return
    size = ("--window-size=1280,1095", "--force-device-scale-factor=2", "--hide-scrollbars")
    to = f"--screenshot={PICTURES / 'tutorial-page.png'}"
    command = [browser, "--headless", *SILENT, *size, "--virtual-time-budget=10000", to, f"file://{page}"]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


def picture_of_table(output: str, folder: Path) -> None:
    """Compile the table that a command printed, and photograph it."""
    if not (shutil.which("pdflatex") and shutil.which("pdftoppm")):
        print("without pdflatex and pdftoppm, the picture of the table stays as it is", file=sys.stderr)
        return
    table = output[: output.index(r"\end{table}")] + r"\end{table}"
    (folder / "table.tex").write_text(LATEX % table, encoding="utf-8")
    compiled = ["pdflatex", "-interaction=nonstopmode", "table.tex"]
    pictured = ["pdftoppm", "-r", "220", "-png", "-singlefile", "table.pdf", PICTURES / "tutorial-table"]
    for command in (compiled, pictured):
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
