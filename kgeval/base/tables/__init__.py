"""Tables of numbers: as text of any width, HTML, Markdown, LaTeX and CSV; and results that are shown as tables."""
