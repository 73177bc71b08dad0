"""From a rank table to numbers: which rows, which groups, which averages; summaries and comparisons."""
