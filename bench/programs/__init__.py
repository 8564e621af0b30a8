"""Programs that the benches run, as a person writes them."""
