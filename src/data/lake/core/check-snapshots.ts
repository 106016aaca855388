/** Checks settings, the order of snapshots, and every row's snapshots and ids. */
import { parseChanges } from "./change-text.ts";
import type { LakeRows } from "./rows.ts";

export function checkSnapshots(rows: LakeRows): string[] {
  return [...checkMetadata(rows), ...checkOrder(rows), ...checkChanges(rows), ...checkRanges(rows)];
}

function checkMetadata({ ducklake_metadata }: LakeRows): string[] {
  const problems: string[] = [];
  const settingOf = (key: string): string | undefined => {
    const found = ducklake_metadata.filter((row) => row.key === key && row.scope === null);
    if (found.length !== 1) problems.push(`the setting ${key} is there ${found.length} times`);
    return found[0]?.value;
  };
  const [version, encrypted, path] = [
    settingOf("version"),
    settingOf("encrypted"),
    settingOf("data_path"),
  ];
  if (version !== "1.0") problems.push(`the version is ${version}, not 1.0`);
  if (encrypted !== "true" && encrypted !== "false") problems.push(`encrypted is ${encrypted}`);
  if (path !== undefined && !path.endsWith("/"))
    problems.push(`data_path ${path} does not end in /`);
  return problems;
}

function checkOrder({ ducklake_snapshot }: LakeRows): string[] {
  const ordered = [...ducklake_snapshot].sort((a, b) => a.snapshot_id - b.snapshot_id);
  if (ordered.length === 0) return ["there is no snapshot"];
  return ordered.flatMap((row, index) => {
    const before = ordered[index - 1];
    if (before === undefined) return [];
    const falls = (
      ["snapshot_time", "schema_version", "next_catalog_id", "next_file_id"] as const
    ).filter((column) => row[column] < before[column]);
    const twice = row.snapshot_id === before.snapshot_id ? ["snapshot_id"] : [];
    return [...falls, ...twice].map(
      (column) =>
        `${column} of snapshot ${row.snapshot_id} is not above that of ${before.snapshot_id}`,
    );
  });
}

function checkChanges({ ducklake_snapshot, ducklake_snapshot_changes }: LakeRows): string[] {
  const snapshots = new Set(ducklake_snapshot.map((row) => row.snapshot_id));
  const changes = new Map(ducklake_snapshot_changes.map((row) => [row.snapshot_id, row]));
  const problems: string[] = [];
  for (const snapshot of snapshots) {
    const text = changes.get(snapshot)?.changes_made;
    if (text === undefined) problems.push(`snapshot ${snapshot} does not say what it changed`);
    else if (parseChanges(text) === undefined) {
      problems.push(`the changes of snapshot ${snapshot} cannot be read: ${text}`);
    }
  }
  for (const snapshot of changes.keys()) {
    if (!snapshots.has(snapshot))
      problems.push(`changes of snapshot ${snapshot}, which is not there`);
  }
  return problems;
}

const ranged = [
  "ducklake_schema",
  "ducklake_table",
  "ducklake_view",
  "ducklake_tag",
  "ducklake_column_tag",
  "ducklake_data_file",
  "ducklake_delete_file",
  "ducklake_column",
  "ducklake_partition_info",
  "ducklake_macro",
  "ducklake_sort_info",
] as const;

function checkRanges(rows: LakeRows): string[] {
  const newest = rows.ducklake_snapshot.reduce((a, b) => (a.snapshot_id > b.snapshot_id ? a : b), {
    snapshot_id: -1,
    next_catalog_id: 0,
    next_file_id: 0,
  });
  const problems: string[] = [];
  for (const table of ranged) {
    for (const { begin_snapshot: begin, end_snapshot: end } of rows[table]) {
      if (begin === null || begin > newest.snapshot_id) {
        problems.push(
          `a row of ${table} begins with ${begin}, the newest snapshot is ${newest.snapshot_id}`,
        );
      } else if (end !== null && (end <= begin || end > newest.snapshot_id)) {
        problems.push(`a row of ${table} is of the snapshots ${begin} to ${end}`);
      }
    }
  }
  const files = [
    ...rows.ducklake_data_file.map((row) => row.data_file_id),
    ...rows.ducklake_delete_file.map((row) => row.delete_file_id),
  ];
  const objects = [
    ...rows.ducklake_schema.map((row) => row.schema_id),
    ...rows.ducklake_table.map((row) => row.table_id),
  ];
  return [
    ...problems,
    ...files
      .filter((id) => id >= newest.next_file_id)
      .map((id) => `file ${id} has an id that was not given yet (${newest.next_file_id})`),
    ...objects
      .filter((id) => id >= newest.next_catalog_id)
      .map(
        (id) =>
          `table or schema ${id} has an id that was not given yet (${newest.next_catalog_id})`,
      ),
    ...duplicates(files).map((id) => `file id ${id} is there twice`),
  ];
}

export function duplicates<T>(values: readonly T[]): readonly T[] {
  const seen = new Set<T>();
  return values.filter((value) => {
    const isSeen = seen.has(value);
    seen.add(value);
    return isSeen;
  });
}

interface Ranged {
  readonly begin_snapshot: number;
  readonly end_snapshot: number | null;
}

/** Whether some snapshot is in both ranges. */
export function overlaps(a: Ranged, b: Ranged): boolean {
  return (
    a.begin_snapshot < (b.end_snapshot ?? Infinity) &&
    b.begin_snapshot < (a.end_snapshot ?? Infinity)
  );
}

/** Pairs of rows with the same key whose ranges overlap. */
export function overlapping<T extends Ranged>(
  rows: readonly T[],
  keyOf: (row: T) => unknown,
): readonly T[] {
  const problems: T[] = [];
  for (const group of Map.groupBy(rows, keyOf).values()) {
    const ordered = [...group].sort((a, b) => a.begin_snapshot - b.begin_snapshot);
    for (const [index, row] of ordered.entries()) {
      const next = ordered[index + 1];
      if (next !== undefined && overlaps(row, next)) problems.push(next);
    }
  }
  return problems;
}
