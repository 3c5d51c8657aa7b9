"""Requests of tools to the network: which host may be reached, at which address, and how much may come back.

    allow.py       the list of hosts, exact, empty means none
    addresses.py   which addresses are out in the open; resolving a name to them
    fetch.py       one request: every hop checked, connected to the very address that was checked
"""
