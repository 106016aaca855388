/**
 * Whether `CREATE OR REPLACE DYNAMIC TABLE` may take the place of a table that others read. They were bound to its columns: each
 * must still be there, with its type. More columns do no harm to who names those that it reads.
 */
import { OperatingError } from "../../../ground/kernel/errors.ts";

export interface NamedColumn {
  readonly name: string;
  readonly type: string;
}

/** `undefined`: it may. */
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
