/**
 * The text of `ducklake_snapshot_changes.changes_made`: entries `kind:value` joined by commas,
 * names in double quotes. Other writers of the format judge their conflicts by it.
 */

import { assert } from "../../../ground/kernel/errors.ts";
import { quoteName } from "../../sql/core/index.ts";

/** The kinds, in the order in which DuckLake's reference implementation writes them. */
const kinds = [
  "dropped_schema",
  "dropped_table",
  "dropped_view",
  "created_schema",
  "created_table",
  "created_view",
  "created_scalar_macro",
  "created_table_macro",
  "dropped_scalar_macro",
  "dropped_table_macro",
  "inserted_into_table",
  "deleted_from_table",
  "altered_table",
  "altered_view",
  "inlined_insert",
  "inlined_delete",
  "inline_flush",
  "flushed_inlined",
  "merge_adjacent",
  "rewrite_delete",
  "compacted_table",
] as const;

type Kind = (typeof kinds)[number];
type NamedKind = Extract<Kind, `created_${string}`>;

export type ChangeEntry =
  | {
      readonly kind: NamedKind;
      /** The name of a schema, or the names of a schema and an object in it. */
      readonly name: readonly string[];
    }
  | { readonly kind: Exclude<Kind, NamedKind>; readonly id: number };

/** Writes each entry once, in the reference's order. */
export function formatChanges(entries: readonly ChangeEntry[]): string {
  const ordered = [...entries].sort((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind));
  const texts = ordered.map((entry) =>
    "id" in entry
      ? `${entry.kind}:${entry.id}`
      : `${entry.kind}:${entry.name.map(quoteName).join(".")}`,
  );
  return [...new Set(texts)].join(",");
}

const entryPattern = /([a-z_]+):(?:(\d+)|("(?:[^"]|"")*"(?:\."(?:[^"]|"")*")?))(?:,(?=.)|$)/isy;

/** Undefined for a text outside this grammar. An empty text means no change. */
export function parseChanges(text: string): readonly ChangeEntry[] | undefined {
  const entries: ChangeEntry[] = [];
  let position = 0;
  while (position < text.length) {
    entryPattern.lastIndex = position;
    const match = entryPattern.exec(text);
    if (match === null) return undefined;
    position = entryPattern.lastIndex;
    const kind = (match[1] as string).toLowerCase();
    const entry = entryOf(kind, match[2], match[3]);
    if (entry === undefined) return undefined;
    entries.push(entry);
  }
  return entries;
}

function entryOf(
  kind: string,
  id: string | undefined,
  quoted: string | undefined,
): ChangeEntry | undefined {
  const known = kinds.find((each) => each === kind);
  if (known === undefined) return undefined;
  if (!isNamed(known)) return id === undefined ? undefined : { kind: known, id: Number(id) };
  return quoted === undefined ? undefined : { kind: known, name: unquote(quoted) };
}

function isNamed(kind: Kind): kind is NamedKind {
  return kind.startsWith("created_");
}

function unquote(quoted: string): readonly string[] {
  const names = quoted.match(/"(?:[^"]|"")*"/g);
  assert(names !== null, "a quoted name has quotes");
  return names.map((name) => name.slice(1, -1).replaceAll('""', '"'));
}
