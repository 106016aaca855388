/** Who is meant where a source, a sink or a peer names a worker (SC18). */

export interface NamedWorker {
  readonly workerId: string;
  /** The name that CREATE WORKER gave it. */
  readonly label: string | undefined;
  readonly host: string;
  readonly grpcPort: number;
}

/**
 * The worker of this id, else of this label, at this `host:port`, or at this host if no other is
 * there. Names and hosts compare case-insensitively.
 */
export function findWorker<W extends NamedWorker>(
  workers: readonly W[],
  name: string,
): W | undefined {
  const wanted = name.toUpperCase();
  const is = (text: string | undefined): boolean => text?.toUpperCase() === wanted;
  const named =
    workers.find(({ workerId }) => workerId === name) ??
    workers.find(({ label }) => is(label)) ??
    workers.find(({ workerId }) => is(workerId)) ??
    workers.find((worker) => is(addressOf(worker)));
  if (named !== undefined) return named;
  const [only, ...others] = workers.filter(({ host }) => is(host));
  return others.length === 0 ? only : undefined;
}

/** As a person writes it. */
export function addressOf({ host, grpcPort }: Pick<NamedWorker, "host" | "grpcPort">): string {
  return `${host.includes(":") ? `[${host}]` : host}:${grpcPort}`;
}
