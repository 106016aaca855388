/**
 * The definition of a simulated dynamic table: maps each source row to another number, and leaves
 * out one in four. So contents show which rows of which version they come from, and can be computed
 * from changes.
 */
export interface Definition {
  readonly salt: number;
}

export function formatDefinition({ salt }: Definition): string {
  return `SELECT derive(${salt}, value)`;
}

export function parseDefinition(text: string): Definition {
  return { salt: Number(/\((\d+),/.exec(text)?.[1]) };
}

/** Undefined when the row is filtered out. */
export function derive({ salt }: Definition, value: number): number | undefined {
  let hash = Math.imul(value ^ Math.imul(salt, 0x9e3779b1), 0x85ebca77);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae3d);
  hash = (hash ^ (hash >>> 16)) >>> 0;
  return hash % 4 === 0 ? undefined : hash;
}

export function deriveAll(
  definition: Definition,
  sources: readonly (readonly number[])[],
): readonly number[] {
  return sources.flatMap((values) => values.flatMap((value) => derive(definition, value) ?? []));
}

/** Equal contents are equal text, whatever the order of their rows. */
export function contentText(values: readonly number[]): string {
  return [...values].sort((left, right) => left - right).join();
}
