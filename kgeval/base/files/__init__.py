"""Safe reading of untrusted files: regular files only, within a budget of memory and steps."""
