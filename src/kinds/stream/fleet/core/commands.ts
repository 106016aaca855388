/**
 * What a coordinator and a worker say to each other about fragments, on the channel `stream` of
 * their control session. `proto/stream.proto` is the same on the wire.
 *
 *   coordinator                          worker
 *   register (fragments)   ───────────▶   opens sources and sinks, reads nothing
 *   start                  ───────────▶   reads
 *   stop (hard | soft)     ───────────▶   ends at once; or reads no more, and all reaches the sinks
 *   unregister             ───────────▶   forgets the fragments, after stopping them
 *   triggerCheckpoint      ───────────▶   begins it at the sources
 *   checkpointComplete     ───────────▶
 *                          ◀───────────   answer, to each of the first four
 *                          ◀───────────   states, when they change by themselves
 *                          ◀───────────   checkpointed, by each fragment, ended ones too
 *                          ◀───────────   statistics, every second
 *
 * Commands are about all fragments of a query on one worker, since they are deployed together. They
 * are idempotent: one that asks for what is the case already is answered as done. A soft stop is
 * answered when it has begun; that it is over is in the fragments' states. A command of an
 * older epoch than the worker knows of the query is refused with `stale_epoch`; `register` of a
 * newer one stops the older one first. Only the session of a coordinator may command; what a
 * session began stays when the session ends (SD2).
 *
 * Every fragment answers a checkpoint whenever it is triggered, with what it said before if it has
 * said it. One that has ended answers with its last state, and with what its sinks had prepared
 * until a checkpoint with it is complete. So a checkpoint after the end of all fragments has all.
 *
 * States of fragments are facts of the worker (`factKeyOf`), so the whole inventory is in each
 * welcome and changes come with heartbeats. An answer has the states that the command led to, with
 * the version of the facts that has them, too: whoever knows an older version takes the answer's.
 * What changes by itself is told at once, in the same form, on channels of version 2.
 */
import type { FragmentSpec, ManifestFragment, SlowestEntry } from "../../run/core/index.ts";

/** What a worker runs of a query: all of it is of one epoch. */
export interface CommandTarget {
  readonly query: string;
  readonly epoch: number;
}

export type StreamCommand = CommandTarget &
  (
    | {
        readonly kind: "register";
        readonly command: number;
        /** Without state: the worker reads what `restore` names. */
        readonly fragments: readonly FragmentSpec[];
        /** These fragments in the checkpoint that the query goes on from. */
        readonly restore: readonly ManifestFragment[] | undefined;
      }
    | { readonly kind: "start"; readonly command: number }
    | { readonly kind: "stop"; readonly command: number; readonly mode: StopMode }
    | { readonly kind: "unregister"; readonly command: number }
    | {
        readonly kind: "triggerCheckpoint";
        readonly checkpoint: number;
        /** The last complete checkpoint of this epoch; 0 before the first one. */
        readonly completed: number;
      }
    | { readonly kind: "checkpointComplete"; readonly checkpoint: number }
  );

/**
 * `hard`: at once, what is under way is dropped. `soft`: sources read no more, windows are closed,
 * and everything reaches the sinks. `suspend`: so too, but windows stay open in the state that the
 * fragments end with.
 */
export type StopMode = "hard" | "soft" | "suspend";

/** What a worker says of one of its fragments. */
export interface FragmentReport {
  readonly fragment: string;
  readonly epoch: number;
  /** `STOPPED`: by a command; `TERMINATED`: its sources and senders have ended. */
  readonly state: "REGISTERED" | "RUNNING" | "STOPPED" | "TERMINATED" | "FAILED";
  readonly error: FragmentError | undefined;
}

export interface FragmentError {
  readonly code: string;
  /** Of an error of the dialect. */
  readonly number: number | undefined;
  readonly message: string;
  /** `never`: the same deployment fails again wherever it is tried (SD12). */
  readonly retry: "never" | "backoff";
}

export type StreamReport =
  | (CommandTarget & {
      readonly kind: "answer";
      readonly command: number;
      /** Why the command was not done. */
      readonly error: FragmentError | undefined;
      readonly fragments: readonly FragmentReport[];
      readonly factsVersion: number;
    })
  /** All fragments of the query on this worker, when some have changed by themselves (SD30). */
  | (CommandTarget & {
      readonly kind: "states";
      readonly fragments: readonly FragmentReport[];
      readonly factsVersion: number;
    })
  | (CommandTarget & {
      readonly kind: "checkpointed";
      readonly checkpoint: number;
      readonly state: ManifestFragment;
      /** What its sinks prepared, by node. */
      readonly prepared: ReadonlyMap<number, string>;
    })
  | {
      readonly kind: "statistics";
      /** By the worker's own monotonic clock; absent from an older worker. */
      readonly atMs: number | undefined;
      readonly queries: readonly RunStatistics[];
      /** The exchange with other workers. */
      readonly peers: readonly PeerStatistics[];
    };

/** Figures since the start of the run, of the fragments on this worker. Lossy, never stored. */
export interface RunStatistics extends CommandTarget {
  readonly fragments: readonly FragmentStatistics[];
}

export interface FragmentStatistics {
  readonly fragment: string;
  readonly rowsIn: number;
  readonly bytesIn: number;
  readonly rowsOut: number;
  readonly rowsReceived: number;
  readonly lateRows: number;
  readonly malformed: number;
  readonly stateBytes: number;
  /** Milliseconds of event time; absent before the first one. */
  readonly watermarkMs: number | undefined;
  readonly bytesOut: number;
  /** For how long it was at work, and waited for room; absent from an older worker. */
  readonly busyMs: number | undefined;
  readonly waitedMs: number | undefined;
  readonly edges: readonly EdgeStatistics[];
  /** The input that holds back its output's watermark. */
  readonly slowest: SlowestEntry | undefined;
}

/** What a fragment has sent to another one, by an exchange. */
export interface EdgeStatistics {
  readonly exchange: number;
  readonly to: string;
  readonly rows: number;
  readonly bytes: number;
  /** Bytes that were sent and not yet acknowledged. */
  readonly backlogBytes: number;
  /** How long it waited for room at the receiver. */
  readonly waitedMs: number;
  readonly watermarkMs: number | undefined;
}

export interface PeerStatistics {
  readonly address: string;
  /** Absent before it was measured. */
  readonly roundTripMs: number | undefined;
  /** What the other side took in the last interval. */
  readonly bytesPerSecond: number;
  /** What was sent and not taken yet, or waits to be sent. */
  readonly backlogBytes: number;
}

const factPrefix = "fragment/";

/** The name of the fact that holds a fragment's report as JSON. */
export function factKeyOf(query: string, fragment: string): string {
  return `${factPrefix}${query}/${fragment}`;
}

/** `undefined` for a fact that is no fragment's. */
export function parseFactKey(key: string): { query: string; fragment: string } | undefined {
  if (!key.startsWith(factPrefix)) return undefined;
  const [query, fragment, ...more] = key.slice(factPrefix.length).split("/");
  if (query === undefined || fragment === undefined || more.length > 0) return undefined;
  return { query, fragment };
}
