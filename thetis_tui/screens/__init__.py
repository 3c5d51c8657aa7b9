"""The screens: the desk one works at, and what opens over it."""
