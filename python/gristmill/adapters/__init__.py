"""Streams for other libraries, one module each; none is imported before it is asked for."""


def chosen(batch, columns):
    """The part of a batch that ``columns`` names: a name, or names in tuples, lists and dicts."""
    if isinstance(columns, str):
        return batch[columns]
    if isinstance(columns, dict):
        return {key: chosen(batch, column) for key, column in columns.items()}
    return tuple(chosen(batch, column) for column in columns)
