"""Shells on other machines: which there are, whom a person vouched for, and a session on one of them.

    host.py        one machine: what may be said of it, and what may not
    registry.py    `ssh-hosts.local.toml`, read each time it is needed
    exclude.py     that file is kept out of git by the repository's exclude file
    trust.py       what a person vouched for: ways to machines, and the keys machines show
    way.py         a machine as it is reached: jumps, keys, options
    connecting.py  the connection (the only importer of asyncssh, itself imported late)
    keys.py        the keys that are offered: a file, the agent
    failures.py    why a connection failed, in words without addresses
    session.py     a shell on the other machine, as a terminal needs it
    bootstrap.py   what runs there

A machine is reached in exactly the way a person vouched for, and only when it shows a key they have seen. Nothing of the
registry but names and descriptions leaves this package towards an agent: no address, user, path or option.

Must not know conversations, modes, approvals; nor what runs in a session.
"""
