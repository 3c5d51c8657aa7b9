"""Looking after a root: is it sound, what does it keep, what may go, what may be shown to others."""
