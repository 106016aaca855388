/** Where two configurations differ. */
export interface ConfigDifference {
  /** For example `workload.operations[0].weight`. */
  readonly path: string;
  /** Undefined when the field is absent. */
  readonly before: unknown;
  readonly after: unknown;
}

export function configDifferences(
  before: unknown,
  after: unknown,
  path = "",
): readonly ConfigDifference[] {
  if (Object.is(before, after)) return [];
  if (Array.isArray(before) && Array.isArray(after)) {
    const length = Math.max(before.length, after.length);
    return Array.from({ length }, (_, at) => at).flatMap((at) =>
      configDifferences(before[at], after[at], `${path}[${at}]`),
    );
  }
  if (!isMapping(before) || !isMapping(after)) return [{ path, before, after }];
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.flatMap((name) =>
    configDifferences(before[name], after[name], path === "" ? name : `${path}.${name}`),
  );
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
