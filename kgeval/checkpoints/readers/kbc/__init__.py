"""kbc and tkbc: a static and a temporal code of facebookresearch, whose files are alike."""
