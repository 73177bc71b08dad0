"""Stored runs: the run directory and folders of runs.

``contents`` names the files and types their records, ``staging`` writes a run whole or not at all, ``stored_run`` reads
a run and says in what state it is, ``folders`` finds the runs in a folder, ``seeds`` joins the runs of one model.

Called by ``kgeval.reports``, ``kgeval.runs``, ``kgeval.pykeen`` and commands. Whatever takes runs looks at their paths
once, by ``folders.look_at``.
"""
