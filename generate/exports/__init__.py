"""Export finished datasets in the layouts that third-party loaders expect."""
