"""The embedded demonstration model: its generated language, its pretraining and its weights."""
