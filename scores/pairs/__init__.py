"""Small studies with people: sheets of pictures that a browser shows, and what the answers come to."""
