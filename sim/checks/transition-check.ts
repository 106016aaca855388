/**
 * I41, I43 and I45: queries and fragments go from state to state as they may, slots are those of
 * live fragments, and nothing is placed where nothing may be placed.
 */

import type { FragmentRow, QueryRow } from "../../src/kinds/stream/catalog/core/index.ts";
import {
  fragmentTransitions,
  hasEnded,
  queryTransitions,
} from "../../src/kinds/stream/catalog/core/states.ts";
import type { Counters } from "./counters.ts";
import type { WorkerRow } from "./store-audit.ts";
import type { StreamChange, StreamsReader } from "./streams-state.ts";
import type { Verdict } from "./verdict.ts";

/** The workers of the moment that a change was made in. */
export type WorkerOf = (workerId: string) => WorkerRow | undefined;

export class TransitionCheck {
  readonly #reader: StreamsReader;
  readonly #verdict: Verdict;
  readonly #counters: Counters;
  /** The names that queries were created with. */
  readonly #names = new Map<string, string>();

  constructor(reader: StreamsReader, verdict: Verdict, counters: Counters) {
    this.#reader = reader;
    this.#verdict = verdict;
    this.#counters = counters;
  }

  changed(change: StreamChange, workerOf: WorkerOf): void {
    if (change.table === "queries") this.#query(change.before, change.after);
    else this.#fragment(change.before, change.after, workerOf);
  }

  /** Of a whole transaction. */
  ended(): void {
    this.#checkSlots();
    for (const query of this.#reader.queries.values()) this.#checkDeployed(query);
  }

  #query(before: QueryRow | undefined, after: QueryRow | undefined): void {
    const name = `the query ${before?.query_id ?? after?.query_id}`;
    if (after === undefined) {
      this.#counters.add(`query ${before?.state} to gone`);
      this.#verdict.require(before?.state === "STOPPED", "I41", () => {
        return `${name} was removed while it was ${before?.state}`;
      });
      return;
    }
    if (before === undefined) this.#requireName(after);
    const from = before?.state ?? "NONE";
    if (from !== after.state) {
      this.#counters.add(`query ${from} to ${after.state}`);
      this.#verdict.require(queryTransitions[from].includes(after.state), "I41", () => {
        return `${name} went from ${from} to ${after.state}`;
      });
    }
    this.#verdict.require(after.epoch >= (before?.epoch ?? 0), "I41", () => {
      return `${name} went from epoch ${before?.epoch} to ${after.epoch}`;
    });
  }

  /** I44: others of its name are those that it, or one after them, takes the place of. */
  #requireName({ query_id: queryId, name }: QueryRow): void {
    if (name === null) return;
    const key = name.toUpperCase();
    this.#names.set(queryId, key);
    const other = this.#reader.queries
      .values()
      .find(
        (row) =>
          this.#names.get(row.query_id) === key &&
          row.superseded_by === null &&
          row.query_id !== queryId,
      );
    this.#verdict.require(other === undefined, "I44", () => {
      return `the query ${queryId} is ${name}, as ${other?.query_id} is, which is ${other?.state}`;
    });
  }

  #fragment(
    before: FragmentRow | undefined,
    after: FragmentRow | undefined,
    workerOf: WorkerOf,
  ): void {
    if (after === undefined) return;
    const { fragment_id: id, state, epoch, worker_id: workerId } = after;
    const from = before?.state ?? "NONE";
    if (from !== state) {
      this.#counters.add(`fragment ${from} to ${state}`);
      this.#verdict.require(fragmentTransitions[from].includes(state), "I41", () => {
        return `the fragment ${id} went from ${from} to ${state}`;
      });
    }
    this.#verdict.require(epoch >= (before?.epoch ?? 0), "I41", () => {
      return `the fragment ${id} went from epoch ${before?.epoch} to ${epoch}`;
    });
    if (before?.worker_id === workerId) return;
    if (before !== undefined) this.#counters.add("streams: fragment moved");
    const worker = workerOf(workerId);
    const takes =
      worker?.state === "ACTIVE" && worker.draining === 0 && worker.drain_requested === 0;
    this.#verdict.require(takes, "I45", () => {
      return `the fragment ${id} was placed on ${workerId}, which is ${worker?.state ?? "gone"} or drains`;
    });
  }

  /** I43 */
  #checkSlots(): void {
    const held = new Map<string, number>();
    for (const { worker_id, holds_slot, state, fragment_id } of this.#reader.fragments.values()) {
      if (holds_slot === 1) held.set(worker_id, (held.get(worker_id) ?? 0) + 1);
      this.#verdict.require(holds_slot === 0 || !hasEnded(state), "I43", () => {
        return `the fragment ${fragment_id} is ${state} and holds a slot`;
      });
    }
    for (const { worker_id, slots, slots_used } of this.#reader.slots()) {
      const count = held.get(worker_id) ?? 0;
      this.#verdict.require(slots_used === count && count <= slots, "I43", () => {
        return `${slots_used} of ${slots} slots of ${worker_id} are used, ${count} are held`;
      });
    }
  }

  /** I42: what the catalog says of a query and of its fragments. */
  #checkDeployed({ query_id: queryId, state, epoch }: QueryRow): void {
    const rows = this.#reader.fragmentsOf(queryId);
    const live = rows.filter((row) => !hasEnded(row.state));
    const isAtRest =
      state === "PAUSED" || state === "STOPPED" || state === "FAILED" || state === "TERMINATED";
    this.#verdict.require(!isAtRest || live.length === 0, "I42", () => {
      return `the query ${queryId} is ${state}, and ${live[0]?.fragment} is ${live[0]?.state}`;
    });
    if (state !== "RUNNING") return;
    const missing = rows.find(
      (row) =>
        row.epoch !== epoch ||
        (row.state !== "RUNNING" && row.state !== "TERMINATED" && row.state !== "STOPPED"),
    );
    this.#verdict.require(missing === undefined, "I42", () => {
      return `the query ${queryId} is RUNNING in epoch ${epoch}, and ${missing?.fragment} is ${missing?.state} in epoch ${missing?.epoch}`;
    });
  }
}
