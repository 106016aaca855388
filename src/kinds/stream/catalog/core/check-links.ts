/** Links between workers, which are directed and never lead in a circle (SC17). */

export interface Link {
  readonly from: string;
  readonly to: string;
}

/** The workers of a circle that the links would close, its first one also last. */
export function findCycle(links: readonly Link[]): readonly string[] | undefined {
  const targets = Map.groupBy(links, ({ from }) => from);
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (worker: string): readonly string[] | undefined => {
    const at = path.indexOf(worker);
    if (at !== -1) return [...path.slice(at), worker];
    if (done.has(worker)) return undefined;
    path.push(worker);
    for (const { to } of targets.get(worker) ?? []) {
      const cycle = visit(to);
      if (cycle !== undefined) return cycle;
    }
    path.pop();
    done.add(worker);
    return undefined;
  };
  for (const { from } of links) {
    const cycle = visit(from);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}
