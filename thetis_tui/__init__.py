"""The screen: a client of the gateway like any other.

Owns what a person sees and types. It must not know how anything is stored, run or rendered by guests: it speaks to
`thetis_kernel.client.GatewayClient` alone, and of the kernel imports only that, the protocol's values and the errors.
"""
