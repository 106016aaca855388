/**
 * Who runs fragments: the threads of a process, or the thread that asks. Whoever drives a query (a
 * local run, or a coordinator through its workers) deploys fragments by name, starts them, and is
 * told what becomes of each. A host knows nothing of plans, of other hosts or of checkpoint stores.
 *
 * Everything here is plain data that can be cloned, so that it travels to threads and processes.
 */
import type { SavedNodeState, SavedSection } from "../../engine/core/index.ts";
import type { PlanNode, QuerySettings } from "../../language/core/index.ts";
import type { Prepared } from "./checkpoint-record.ts";
import type { FragmentProgress } from "./progress.ts";

/** One start of a query. What an earlier epoch still does concerns nobody (SU23). */
export interface QueryRun {
  readonly query: string;
  readonly epoch: number;
}

export interface FragmentSpec {
  readonly fragment: string;
  /** Fragments with different lanes run on different threads, as far as there are threads. */
  readonly lane: number;
  readonly nodes: readonly PlanNode[];
  readonly settings: QuerySettings;
  /** The fragments that it sends to, in the order of their key groups, by the exchange's node. */
  readonly out: ReadonlyMap<number, readonly FarEnd[]>;
  /** The fragments that it receives from, by the exchange's node. */
  readonly in: ReadonlyMap<number, readonly FarEnd[]>;
  /** What a checkpoint says of this fragment, to go on from there. */
  readonly restored: RestoredFragment | undefined;
  /** Whether checkpoints hold the fragment's state; else only what its sinks prepare. */
  readonly keepsState: boolean;
}

/** The other end of an edge. */
export interface FarEnd {
  readonly fragment: string;
  /** The exchange port of its process; `undefined`: it is on the same host. */
  readonly address: string | undefined;
}

export interface RestoredFragment {
  readonly nodes: readonly RestoredNode[];
  /** Of sources and sinks, by node. */
  readonly positions: ReadonlyMap<number, string>;
}

export interface RestoredNode extends SavedNodeState {
  readonly sections: readonly RestoredSection[];
}

export interface RestoredSection extends SavedSection {
  readonly generation: number;
}

/** What a checkpoint holds of a fragment, all of one moment. */
export interface EncodedFragment {
  readonly fragment: string;
  readonly nodes: readonly EncodedNode[];
  readonly positions: ReadonlyMap<number, string>;
  /** What its sinks prepared, to be committed when the checkpoint is complete (SU40). */
  readonly prepared: Prepared;
}

export interface EncodedNode {
  readonly node: number;
  readonly combined: bigint;
  readonly told: bigint;
  readonly sections: readonly EncodedSection[];
}

export interface EncodedSection {
  readonly key: string;
  readonly generation: number;
  /** `undefined`: the last complete checkpoint has this generation of it. */
  readonly bytes: Uint8Array | undefined;
}

/** What is left of a fragment that has ended. */
export interface EndedFragment {
  readonly progress: FragmentProgress;
  /** It stands for the fragment in all later checkpoints. */
  readonly state: EncodedFragment;
}

/** What becomes of the fragments of a run. */
export interface FragmentEvents {
  /** Its state of this checkpoint, when what its sinks wrote until then is durable. */
  acknowledged(checkpoint: number, state: EncodedFragment): void;
  /** Its sources and senders have ended, or were drained, and its sinks have everything. */
  ended(fragment: string, ended: EndedFragment): void;
  /** It is closed. `error` is the first one. */
  failed(fragment: string, error: unknown): void;
}

export interface StreamHost {
  /** Opens sources and sinks. When it rejects, none of these fragments is left open. */
  deploy(run: QueryRun, specs: readonly FragmentSpec[], events: FragmentEvents): Promise<void>;
  start(run: QueryRun): void;
  /** Sources read no more. With `suspend` windows stay open for the state at the end (SU4). */
  drain(run: QueryRun, suspend: boolean): void;
  /** Begins a checkpoint at the sources; the others take part when its barriers reach them. */
  trigger(run: QueryRun, checkpoint: number): void;
  /** A checkpoint is complete: what it has need not be given again. */
  completed(run: QueryRun, checkpoint: number): void;
  /** Of the fragments that have not ended. */
  progress(run: QueryRun): Promise<readonly FragmentProgress[]>;
  /** Ends all fragments of the run at once; no event follows. Idempotent. */
  stop(run: QueryRun): Promise<void>;
}

export function runName({ query, epoch }: QueryRun): string {
  return `${query} ${epoch}`;
}
