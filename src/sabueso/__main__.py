"""`python -m sabueso`."""

from .cli import main

main()
