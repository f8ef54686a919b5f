"""A set of regions as a dataset of Arrow's, which other packages read a piece at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from affinelens.regions.store.pattern_bits import bits_for
from affinelens.regions.store.shards import RowGroup
from affinelens.regions.store.stored_regions import StoredRegions

if TYPE_CHECKING:
    import pyarrow.dataset

    from affinelens.regions.regions import Regions


def dataset(regions: Regions) -> pyarrow.dataset.Dataset:
    """The files of a large run, where they are; of any other set, what they would hold, in memory."""
    import pyarrow.dataset as ds

    from affinelens.regions.store.arrow_table import columns_to_table

    source = regions.outcome.source
    if isinstance(source, StoredRegions) and len(source):
        return _of_files(source)
    return ds.dataset(columns_to_table(regions.outcome.table, regions.domain, bits=bits_for(regions.network)))


def _of_files(source: StoredRegions) -> Any:
    """A fragment is a run of row groups of one file; fragments are in the order of the regions."""
    import pyarrow.dataset as ds
    from pyarrow.fs import LocalFileSystem

    def count_rows(self: Any, condition: Any = None, **options: Any) -> int:
        """Arrow's own count takes a fragment for the whole of its file."""
        condition = options.pop("filter", condition)
        if condition is None:
            return len(source)
        return sum(batch.num_rows for batch in self.scanner(columns=[], filter=condition, **options).to_batches())

    kind = type("RowGroupsOfFiles", (ds.FileSystemDataset,), {"count_rows": count_rows})
    system = LocalFileSystem()
    checking = ds.ParquetFragmentScanOptions(page_checksum_verification=True)
    form = ds.ParquetFileFormat(default_fragment_scan_options=checking)
    paths = [str(file.path) for file in source.files]
    fragments = [
        form.make_fragment(paths[run[0].shard], system, row_groups=[group for _, group in run])
        for run in _runs(source.groups)
    ]
    schema = source.files[0].metadata.schema.to_arrow_schema().remove_metadata()
    return kind(fragments, schema, form, system)


def _runs(groups: Sequence[RowGroup]) -> Iterator[list[RowGroup]]:
    """Row groups that stand one behind the other in a file, together."""
    run: list[RowGroup] = []
    for group in groups:
        if run and group != RowGroup(run[-1].shard, run[-1].group + 1):
            yield run
            run = []
        run.append(group)
    if run:
        yield run
