/**
 * Cuts the files of a table into groups that can be read one after the other: no row of a group
 * has a smaller id than one of the group before it, so the last id says how far a reader has come.
 * Pure.
 */
import type { ChangedFile } from "../../../../data/lake/core/index.ts";

/** A file, and the ids that its rows can have. */
export interface RangedFile {
  readonly file: ChangedFile;
  readonly least: number;
  readonly greatest: number;
}

/** Files whose ids overlap stay together, however many rows they have. */
export function groupFiles(
  files: readonly RangedFile[],
  rowsMax: number,
): readonly (readonly ChangedFile[])[] {
  const groups: ChangedFile[][] = [];
  let group: ChangedFile[] = [];
  let rows = 0;
  let greatest = Number.NEGATIVE_INFINITY;
  for (const { file, ...ids } of [...files].sort((a, b) => a.least - b.least)) {
    const { recordCount } = file.file;
    if (group.length > 0 && ids.least > greatest && rows + recordCount > rowsMax) {
      groups.push(group);
      group = [];
      rows = 0;
    }
    group.push(file);
    rows += recordCount;
    greatest = Math.max(greatest, ids.greatest);
  }
  if (group.length > 0) groups.push(group);
  return groups;
}
