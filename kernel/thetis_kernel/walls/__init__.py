"""Running a command an agent asked for, behind a wall.

Owns the confinement of commands: which mechanism this machine has (`probe`), what a command may see and
write (`roots`, `system`, `toolchains`, `environment`), the two mechanisms (`bubblewrap`, `landlock` with
`seccomp`), the helper process that supervises one command (`enter`, `tree`), and the blocking `runner`.

Must not know: conversations, modes, approvals, the event log. Who may run what is decided before this package
is asked; it only makes sure that what runs stays inside. Nothing is imported here, because the helper
process imports this package and has to start in milliseconds.
"""
