"""Reading files of strangers: regular files only, and no more bytes and steps than their size allows."""
