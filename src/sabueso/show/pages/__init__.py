"""Pages: the one-file report and the screens of `sabueso ui`, from the same templates and charts. Needs the extra `sabueso[ui]`."""
