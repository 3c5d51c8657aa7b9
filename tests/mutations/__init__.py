"""Mutations: each breaks one rule on purpose, in a copy of the tree, and names the tests that must notice.

`make mutate` runs them all. A mutation is a file `<name>.patch`: a header of `# rule:` (one sentence) and `# test:` (a pytest
selection; may stand several times), perhaps `# seconds:` (the time they get), then a unified diff. Line numbers of the diff
are not used, its lines are: they must stand in the file exactly once. So a patch survives edits elsewhere and fails loudly
when the lines it breaks have gone.
"""
