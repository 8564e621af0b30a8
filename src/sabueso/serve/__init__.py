"""The page of `sabueso ui`: a server on this machine for the screens of show/pages. Needs the extra `sabueso[ui]`."""
