/** The plan of continuous queries in a world: its catalog, what people ask for, and faults. */
import type { Prng } from "../../src/ground/kernel/prng.ts";

export interface StreamsSettings {
  /** Stream slots of the workers, in turn. */
  readonly slots: readonly number[];
  /** From worker to worker, by their indices; none: all reach all. */
  readonly links: readonly (readonly [number, number])[];
  /** Where the physical sources of each logical source are: indices of workers, or -1 for any. */
  readonly sources: readonly (readonly number[])[];
  readonly rowsPerSecond: number;
  readonly deployTimeoutMs: number;
  readonly softStopMs: number;
}

export interface PlannedQuery {
  /** The number of its name; names collide. */
  readonly name: number;
  readonly shape: "copy" | "sums";
  readonly source: number;
  readonly sink: number;
  readonly parallelism: number;
  readonly checkpointMs: number;
  readonly replaceAfterMs: number;
}

export type StopWord = "" | "SOFT" | "HARD";

export type StreamAction =
  | { readonly kind: "stream_create"; readonly query: PlannedQuery; readonly replace: boolean }
  | { readonly kind: "stream_drop"; readonly name: number; readonly stop: StopWord }
  | { readonly kind: "stream_pause"; readonly name: number }
  | { readonly kind: "stream_resume"; readonly name: number }
  /** Drops one query, and creates two: all of it or none. */
  | {
      readonly kind: "stream_bundle";
      readonly drop: number;
      readonly queries: readonly PlannedQuery[];
    };

export type StreamFault =
  /** Several workers are killed, one shortly after the other. */
  | {
      readonly kind: "stream_kills";
      readonly first: number;
      readonly count: number;
      readonly gapMs: number;
      readonly dark: boolean;
      readonly forMs: number;
    }
  /** Host after host is cut off from all others, and comes back in another order. */
  | { readonly kind: "stream_clogs"; readonly gapMs: number; readonly forMs: number }
  /**
   * The leader dies, or loses its next commits, when a query comes to this moment: one of its
   * states, or a checkpoint.
   */
  | {
      readonly kind: "stream_leader";
      readonly moment: string;
      readonly does: "dies" | "loses commits";
      readonly afterMs: number;
      /** Of commits: whether they are lost after they were done. */
      readonly dark: boolean;
      readonly forMs: number;
    }
  /** The next few calls of the object store fail, having done what they were asked or not. */
  | { readonly kind: "stream_objects"; readonly count: number };

export const streamFaultKinds: readonly StreamFault["kind"][] = [
  "stream_kills",
  "stream_clogs",
  "stream_leader",
  "stream_objects",
];

const moments = [
  "checkpoint",
  "checkpoint",
  "PENDING",
  "DEPLOYING",
  "RUNNING",
  "STOPPING",
  "STOPPING",
  "TERMINATING",
];

export type StreamStep = StreamAction & { readonly atMs: number };

export const streamNames = 5;
export const logicalSources = 2;
/** For each shape. */
export const streamSinks = 2;

export function drawStreamsSettings(prng: Prng, workers: number): StreamsSettings {
  const sources = Array.from({ length: logicalSources }, () =>
    Array.from({ length: 1 + prng.below(2) }, () => (prng.next() < 0.6 ? prng.below(workers) : -1)),
  );
  return {
    slots: Array.from({ length: workers }, () => 2 + prng.below(6)),
    links: prng.next() < 0.3 ? drawLinks(prng, workers) : [],
    sources,
    rowsPerSecond: 1 + prng.below(3),
    deployTimeoutMs: prng.next() < 0.5 ? 600_000 : 40_000,
    softStopMs: prng.next() < 0.5 ? 60_000 : 15_000,
  };
}

/** From lower to higher numbers, so that no way leads back. */
function drawLinks(prng: Prng, workers: number): (readonly [number, number])[] {
  const links: (readonly [number, number])[] = [];
  for (let from = 0; from < workers; from += 1) {
    for (let to = from + 1; to < workers; to += 1) {
      if (prng.next() < 0.7) links.push([from, to]);
    }
  }
  return links;
}

/** The catalog's definitions are there by then. */
const beginMs = 8_000;

export function drawStreamSteps(prng: Prng, untilMs: number): StreamStep[] {
  const steps: StreamStep[] = [];
  const everyMs = 1_000 + prng.next() * 6_000;
  for (let atMs = beginMs; atMs < untilMs; atMs += prng.next() * 2 * everyMs) {
    steps.push({ atMs, ...drawStreamAction(prng) });
  }
  return steps;
}

export function drawStreamAction(prng: Prng): StreamAction {
  const draw = prng.next();
  const name = prng.below(streamNames);
  if (draw < 0.4) return { kind: "stream_create", query: drawQuery(prng), replace: false };
  if (draw < 0.5) return { kind: "stream_create", query: drawQuery(prng), replace: true };
  if (draw < 0.76) return { kind: "stream_drop", name, stop: drawStop(prng) };
  if (draw < 0.84) return { kind: "stream_pause", name };
  if (draw < 0.92) return { kind: "stream_resume", name };
  return { kind: "stream_bundle", drop: name, queries: [drawQuery(prng), drawQuery(prng)] };
}

export function drawStreamFault(prng: Prng): StreamFault {
  const kind = streamFaultKinds[prng.below(streamFaultKinds.length)] ?? "stream_kills";
  switch (kind) {
    case "stream_kills":
      return {
        ...{ kind, first: prng.below(60), count: 2 + prng.below(4), gapMs: prng.next() * 3_000 },
        ...{ dark: prng.next() < 0.3, forMs: 200 + prng.next() * 15_000 },
      };
    case "stream_clogs":
      return { kind, gapMs: prng.next() * 3_000, forMs: 500 + prng.next() * 15_000 };
    case "stream_leader":
      return {
        ...{ kind, moment: moments[prng.below(moments.length)] ?? "RUNNING" },
        does: prng.next() < 0.7 ? "dies" : "loses commits",
        ...{ afterMs: prng.next() < 0.3 ? 0 : prng.next() * 300, dark: prng.next() < 0.3 },
        forMs: 500 + prng.next() * 20_000,
      };
    case "stream_objects":
      return { kind, count: 1 + prng.below(5) };
  }
}

function drawStop(prng: Prng): StopWord {
  const draw = prng.next();
  return draw < 0.2 ? "" : draw < 0.7 ? "SOFT" : "HARD";
}

function drawQuery(prng: Prng): PlannedQuery {
  const draw = prng.next();
  return {
    name: prng.below(streamNames),
    shape: prng.next() < 0.4 ? "copy" : "sums",
    source: prng.below(logicalSources),
    sink: prng.below(streamSinks),
    parallelism: 1 + prng.below(3),
    checkpointMs: 1_000 + prng.below(4) * 1_000,
    replaceAfterMs: draw < 0.3 ? 0 : draw < 0.7 ? 2_000 : 10_000,
  };
}
