/**
 * Decides whether `CREATE OR REPLACE DYNAMIC TABLE` may replace a table that others read: each
 * column must still exist with its type. Added columns are allowed.
 */
import { OperatingError } from "../../../ground/kernel/errors.ts";

export interface NamedColumn {
  readonly name: string;
  readonly type: string;
}

/** Undefined when the replacement is allowed. */
export function decideReplacementRefusal(
  table: string,
  before: readonly NamedColumn[],
  after: readonly NamedColumn[],
  readers: readonly string[],
): OperatingError | undefined {
  if (readers.length === 0) return undefined;
  const types = new Map(after.map(({ name, type }) => [name.toLowerCase(), type]));
  const broken = before.flatMap(({ name, type }) => {
    const now = types.get(name.toLowerCase());
    if (now === undefined) return [`${name} would be gone`];
    return now === type ? [] : [`${name} would be ${now} instead of ${type}`];
  });
  if (broken.length === 0) return undefined;
  return new OperatingError(
    "reference_violated",
    "never",
    `${table} is read by ${readers.join(", ")}: ${broken.join("; ")}`,
    { hint: `Keep these columns, or drop ${readers.join(", ")} first.` },
  );
}
