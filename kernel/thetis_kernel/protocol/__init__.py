"""The words the processes say to each other, and the log's: pure data, standard library and msgspec only."""
