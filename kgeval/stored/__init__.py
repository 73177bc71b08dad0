"""Stored runs: the run directory and folders of runs.

``contents`` names the files and types their records, ``staging`` writes a run whole or not at all, ``stored_run`` reads
one and says in what state it is, ``folders`` finds the runs in a folder, ``seeds`` joins those that are one model.

Called by ``kgeval.reports``, ``kgeval.runs`` and commands. Whatever takes runs looks at their paths by
``folders.look_at``, once.
"""
