"""Data checked without a program: tables opened, counted in one scan, laid side by side, and judged by the catalogue's checks."""
