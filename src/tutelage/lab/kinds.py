"""Where kinds of experiments are defined: in the studies of the subjects, which are imported when one is asked for."""

from tutelage.discover import import_from_subjects


def import_all_kinds() -> None:
    """Import every module of the package that defines a kind of experiment."""
    import_from_subjects("studies")
