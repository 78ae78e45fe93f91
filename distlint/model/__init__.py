"""The vocabulary: small classes that every step shares, and that depend on nothing but each other."""
