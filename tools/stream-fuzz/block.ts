/** What a thread of the stream fuzzer is asked for, and what it answers. */
export type FuzzKind = "statements" | "records" | "plans";

/** A block of cases: the same seed and block give the same cases. */
export interface BlockRequest {
  readonly kind: FuzzKind;
  readonly seed: string;
  readonly block: number;
  readonly cases: number;
  /** Ends with the first failure, as it is. */
  readonly first: boolean;
}

export interface Failure {
  /** Where the case is, and everything that it takes to repeat it. */
  readonly text: string;
}

export interface BlockAnswer {
  readonly cases: number;
  readonly failures: readonly Failure[];
  /** How often something was met, by its name. */
  readonly counts: Readonly<Record<string, number>>;
  /** CPU time of the case that took longest, and its text. */
  readonly slowestMs: number;
  readonly slowest: string;
}

/** Counts by name. */
export class Counts {
  readonly all: Record<string, number> = {};

  add(name: string, count = 1): void {
    this.all[name] = (this.all[name] ?? 0) + count;
  }

  merge(other: Readonly<Record<string, number>>): void {
    for (const [name, count] of Object.entries(other)) this.add(name, count);
  }
}

/** CPU time of this thread's process so far. */
export function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
