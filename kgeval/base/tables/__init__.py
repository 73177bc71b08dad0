"""Tables of numbers: as text of any width, HTML, Markdown, LaTeX and CSV; and results that are shown as tables.

Results of every room are classes of ``shown.py``; they make tables (``table.py``), whose text is laid out in
``text_layout.py``.
"""
