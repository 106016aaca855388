/** Runs jobs side by side, in their order, but none beside another that has a name in common. */

export interface NamedJob {
  readonly names: ReadonlySet<string>;
  run(): Promise<void>;
}

export async function takeTurns(jobs: readonly NamedJob[], atOnceMax: number): Promise<void> {
  const waiting = [...jobs];
  const taken = new Set<string>();
  const running = new Set<Promise<void>>();
  while (waiting.length > 0 || running.size > 0) {
    const next = waiting.findIndex(({ names }) => names.isDisjointFrom(taken));
    if (next === -1 || running.size === atOnceMax) {
      await Promise.race(running);
      continue;
    }
    const [job] = waiting.splice(next, 1) as [NamedJob];
    for (const name of job.names) taken.add(name);
    const run = job.run().finally(() => {
      for (const name of job.names) taken.delete(name);
      running.delete(run);
    });
    running.add(run);
  }
}
