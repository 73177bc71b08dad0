"""The loops of the table of labels: a label's slot is found by a hash, and the next ones are probed.

Texts are read as words of eight bytes, the first byte lowest, with two words to spare behind the last.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kgeval.compiling import njit

_compiled = njit(cache=True, nogil=True)

BATCH = 64
"""labels whose slots are fetched together"""

EMPTY, ONE = np.uint64(0), np.uint64(1)
ALL = np.uint64(2**64 - 1)
ODD_1, ODD_2 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
"""the constants of MurmurHash3 (Appleby, 2011), which spread a word's bits over all others"""


@_compiled
def _word(texts: Any, start: int, end: int) -> Any:
    """Read up to eight bytes as one word."""
    if end <= start:
        return EMPTY
    word, shift = start >> 3, np.uint64(8 * (start & 7))
    read = (texts[word] >> shift) | ((texts[word + 1] << ONE) << (np.uint64(63) - shift))
    return read & (ALL >> np.uint64(64 - 8 * min(end - start, 8)))


@_compiled
def _mixed(word: Any) -> Any:
    word = (word ^ (word >> np.uint64(33))) * ODD_1
    return word ^ (word >> np.uint64(33))


@_compiled
def _rest(texts: Any, start: int, end: int) -> Any:
    """Read what follows the first word of a label: as a word, or of a long label as a hash."""
    rest = _word(texts, start + 8, end)
    for place in range(start + 16, end, 8):
        rest = _mixed(rest * ODD_2 ^ _word(texts, place, end))
    return rest


@_compiled
def _place(length: Any, first: Any, rest: Any) -> Any:
    """Hash a label."""
    return _mixed(((first ^ (first >> np.uint64(32))) * ODD_1 ^ rest ^ length) * ODD_2)


@_compiled
def move_slots(slots: Any, larger: Any) -> None:
    """Bring all labels into a larger table."""
    mask = np.uint64(len(larger) - 1)
    for row in range(len(slots)):
        if slots[row, 0] != EMPTY:
            place = _place(slots[row, 1], slots[row, 2], slots[row, 3]) & mask
            while larger[place, 0] != EMPTY:
                place = (place + ONE) & mask
            larger[place] = slots[row]


@_compiled
def add_labels(offsets: Any, texts: Any, slots: Any, known: Any, count: Any, codes: Any) -> Any:
    """Find or give the code of each label; returns how many labels there are then.

    Parameters
    ----------
    offsets, texts
        where each label begins, int32[label + 1], and the words of all, uint64[word]
    slots
        the slots, uint64[slot, 4], with room for all
    known
        where each known label begins, from 0, int64[code + 1], and the bytes of all; with room for all
    count
        how many labels are known
    codes
        takes the code of each label, int32[label]
    """
    mask = np.uint64(len(slots) - 1)
    places, firsts, rests = np.empty(BATCH, np.uint64), np.empty(BATCH, np.uint64), np.empty(BATCH, np.uint64)
    for begin in range(0, len(codes), BATCH):
        rows = range(begin, min(begin + BATCH, len(codes)))
        for row in rows:
            start, end = offsets[row], offsets[row + 1]
            first, rest = _word(texts, start, end), _rest(texts, start, end)
            firsts[row - begin], rests[row - begin] = first, rest
            places[row - begin] = _place(np.uint64(end - start), first, rest) & mask
        fetched = EMPTY
        for row in rows:  # one after the other, each would wait for memory
            fetched |= slots[places[row - begin], 0]
        for row in rows:
            place, first, rest = places[row - begin], firsts[row - begin], rests[row - begin]
            start, length = offsets[row], np.uint64(offsets[row + 1] - offsets[row])
            while slots[place, 0] != EMPTY:
                number: Any = np.int64(slots[place, 0])
                same = slots[place, 2] == first and slots[place, 3] == rest and slots[place, 1] == length
                if same and (length <= 16 or _is_equal(texts, start, known, number)):
                    break
                place = (place + ONE) & mask
            else:
                count += 1
                number = count
                slots[place, 0], slots[place, 1] = np.uint64(number), length
                slots[place, 2], slots[place, 3] = first, rest
                _keep(texts, start, np.int64(length), known, number)
            codes[row] = number - 1
        count += np.int64(fetched >> np.uint64(63))  # nothing, for codes are small: without a use nothing is fetched
    return count


@_compiled
def _is_equal(texts: Any, start: int, known: Any, number: int) -> bool:
    """Whether a text begins with the known label of a number, from 1."""
    begins, kept = known
    for place in range(begins[number - 1], begins[number]):
        if kept[place] != _word(texts, start, start + 1):
            return False
        start += 1
    return True


@_compiled
def _keep(texts: Any, start: int, length: int, known: Any, number: int) -> None:
    """Copy the text of a new label to the end of the known ones."""
    begins, kept = known
    begins[number] = begins[number - 1] + length
    for place in range(length):
        kept[begins[number - 1] + place] = _word(texts, start + place, start + place + 1)
