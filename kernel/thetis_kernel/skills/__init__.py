"""Skills as files: what their front matter says, what is wrong with them, which of them fit some words.

    frontmatter.py   the head of a SKILL.md, TOML between +++ or simple YAML between ---
    reading.py       the skills of one directory, bounded, no link followed
    ranking.py       BM25 over their cards

Pure functions over files. Must not know where skills come from, conversations, or what anybody may do.
"""
