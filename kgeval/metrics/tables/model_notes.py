"""Notes of several models: each once, with the names of the models that it is of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def notes_with_models(notes: Mapping[str, Sequence[str]]) -> list[str]:
    """Collect the notes of models, by their names; a note that all of several have needs no names.

    >>> notes_with_models({"a": ["3 triples are repeated."], "b": ["3 triples are repeated.", "4 ranks tie."]})
    ['3 triples are repeated.', 'b: 4 ranks tie.']
    """
    models: dict[str, list[str]] = {}
    for model, of_model in notes.items():
        for note in dict.fromkeys(of_model):
            models.setdefault(note, []).append(model)
    return [
        note if len(names) == len(notes) and (len(names) > 1 or not names[0]) else f"{', '.join(names)}: {note}"
        for note, names in models.items()
    ]
