/**
 * The streams that the coordinator which leads makes: heartbeats from its memory, and the events of
 * queries from the change log. Rules: SD82 to SD84.
 */
import type { WorkerPool } from "../../../../ground/cluster/index.ts";
import { type Clock, waitAtMost } from "../../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { LeaseGrant, Store } from "../../../../ground/store/index.ts";
import type { AskedRows, SystemRows } from "../../run/core/index.ts";
import { type LoggedChange, queryEventOf, RecentRows } from "../core/index.ts";
import { rowsOrWait, rowsWaitMsMax } from "../rows-or-wait.ts";

export interface CoordinatorStreamsOptions {
  readonly store: Store;
  readonly pool: WorkerPool;
  readonly lease: () => LeaseGrant | undefined;
  readonly clock: Clock;
  /** Names the heartbeats of this run of the process. */
  readonly series: string;
}

const heartbeatsMax = 10_000;
const changesMax = 500;

export class CoordinatorStreams {
  readonly #options: CoordinatorStreamsOptions;
  readonly #heartbeats: RecentRows;
  #unlisten: (() => void) | undefined;

  constructor(options: CoordinatorStreamsOptions) {
    this.#options = options;
    this.#heartbeats = new RecentRows(options.series, heartbeatsMax);
  }

  start(): void {
    const { pool, clock } = this.#options;
    const incarnations = new Map<string, string>();
    this.#unlisten = pool.listen({
      workerUp: ({ workerId, incarnation }) => incarnations.set(workerId, incarnation),
      workerHeartbeat: (workerId, rttMs) => {
        this.#heartbeats.put({
          sequence: this.#heartbeats.next,
          worker_id: workerId,
          timestamp: Math.floor(clock.wallMs()),
          incarnation: incarnations.get(workerId) ?? "",
          round_trip_ms: rttMs,
        });
      },
    });
  }

  stop(): void {
    this.#unlisten?.();
  }

  /** Throws `not_leader`, and `not_found` for events that are no longer kept. */
  async rows({ stream, after }: AskedRows): Promise<SystemRows | undefined> {
    if (this.#options.lease() === undefined) {
      throw new OperatingError("not_leader", "backoff", "this coordinator does not lead");
    }
    if (stream === "query_events") return await this.#events(after);
    if (stream !== "heartbeats") return undefined;
    return await rowsOrWait(this.#heartbeats, after, this.#options.clock);
  }

  async #events(after: string | undefined): Promise<SystemRows> {
    const { store, clock } = this.#options;
    const poked = Promise.withResolvers<void>();
    const forget = store.onPoke(() => poked.resolve()); // Before reading: no commit is missed.
    try {
      const now = await readEvents(store, after);
      if (after === undefined || now.lines !== "" || now.at !== after) return now;
      await waitAtMost(clock, rowsWaitMsMax, poked.promise);
      return await readEvents(store, after);
    } finally {
      forget();
    }
  }
}

/** The events behind a revision; without one there are none, and the answer is where now is. */
async function readEvents(store: Store, after: string | undefined): Promise<SystemRows> {
  return await store.read(async ({ db }) => {
    const { revision, trimmed_revision: trimmed } = await db
      .selectFrom("catalog_revision")
      .selectAll()
      .executeTakeFirstOrThrow();
    if (after === undefined) return { lines: "", at: String(revision) };
    const from = Number(after);
    if (!(from >= trimmed && from <= revision)) throw expired(after, trimmed);
    const changes: readonly LoggedChange[] = await db
      .selectFrom("catalog_changes")
      .selectAll()
      .where("revision", ">", from)
      .where("table_name", "=", "queries")
      .orderBy("revision")
      .limit(changesMax)
      .execute();
    const lines = changes.flatMap((change) => {
      const event = queryEventOf(change);
      return event === undefined ? [] : [`${JSON.stringify(event)}\n`];
    });
    const last = changes.length === changesMax ? changes.at(-1)?.revision : revision;
    return { lines: lines.join(""), at: String(last) };
  });
}

function expired(after: string, trimmed: number): OperatingError {
  const message = `the events of queries behind revision ${after} are no longer kept, those behind ${trimmed} are`;
  return new OperatingError("not_found", "never", message, {
    hint: "CREATE OR REPLACE QUERY begins anew with the events from now on.",
  });
}
