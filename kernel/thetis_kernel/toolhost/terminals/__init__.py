"""Terminals of a conversation: shells that live on between calls, each on a pty of its own inside the walls.

    shell.py      what runs inside: a driver that runs one command after the other, each in a shell of its own
    marks.py      where a command's output ends in the stream of the pty
    plain.py      that stream as text, without what steers a terminal
    screen.py     the same stream as a screen, when somebody looks
    run.py        one command: its output within bounds, how it ended
    listening.py  the thread that hears a terminal, and every way a command ends
    terminal.py   one terminal: runs, reads, types, signals, closes
    pool.py       the conversation's terminals: names, how many, idle ones, what became of those that are gone
    calls.py      the operations `terminals.*`

They live in the worker and die with it, whatever way it goes: the helper of each (walls.attend) holds a pipe that ends
with the worker, and ends everything below it. A new worker has no terminals; what the log says was open is told to the
agent as gone at the start of the next turn (pool.py).

A command is over when its shell has ended, whoever still holds the terminal: the driver says so on a pipe of its own, with
the exit code and the directory. The same moment is marked in the stream by an escape sequence with a nonce, which no command
writes by accident; it only says which output came before. Neither is a prompt, so nothing is scraped.

Must not know: conversations, modes, approvals, the wire. What a terminal may see and write is the opener's part.
"""
