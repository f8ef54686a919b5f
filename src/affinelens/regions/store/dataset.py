"""A set of regions as a dataset of Arrow's, which other packages read a piece at a time."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from affinelens.regions.store.pattern_bits import bits_for
from affinelens.regions.store.stored_regions import StoredRegions

if TYPE_CHECKING:
    import pyarrow.dataset

    from affinelens.regions.regions import Regions


def dataset(regions: Regions) -> pyarrow.dataset.Dataset:
    """The files of a large run, where they are; of any other set, what they would hold, in memory."""
    import pyarrow.dataset as ds

    from affinelens.regions.store.arrow_table import columns_to_table

    source = regions.outcome.source
    if isinstance(source, StoredRegions):
        return _of_files(source)
    return ds.dataset(columns_to_table(regions.outcome.table, regions.domain, bits=bits_for(regions.network)))


def _of_files(source: StoredRegions) -> Any:
    """A fragment is a run of row groups of one file; fragments are in the order of the regions."""
    import pyarrow.dataset as ds
    from pyarrow.fs import LocalFileSystem

    files, system = source.files, LocalFileSystem()
    form = ds.ParquetFileFormat(
        default_fragment_scan_options=ds.ParquetFragmentScanOptions(page_checksum_verification=True)
    )
    fragments = []
    for _, run in groupby(enumerate(_followed(source.groups)), key=lambda item: item[1][0]):
        groups = [group for _, (_, group) in run]
        fragments.append(
            form.make_fragment(str(files[groups[0].shard].path), system, row_groups=[g.group for g in groups])
        )
    schema = files[0].metadata.schema.to_arrow_schema().remove_metadata()
    return ds.FileSystemDataset(fragments, schema, form, system)


def _followed(groups: Any) -> list[tuple[int, Any]]:
    """Row groups with the number of the run that they are in: one ends where the next one is not just behind."""
    numbered, number = [], 0
    for k, group in enumerate(groups):
        number += k > 0 and group != (groups[k - 1].shard, groups[k - 1].group + 1)
        numbered.append((number, group))
    return numbered
