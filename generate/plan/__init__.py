"""Plan a build before anything is written."""
