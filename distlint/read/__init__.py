"""One tolerant reader with exact places for each format: a file's text in, its facts out."""
