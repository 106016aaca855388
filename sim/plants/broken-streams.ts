/** Broken catalogs, stores, hosts of fragments and talk with workers. */
import type { WorkerListener, WorkerPool } from "../../src/ground/cluster/core/index.ts";
import type { WorkerId } from "../../src/ground/kernel/ids.ts";
import type { CatalogTx, LeaseGrant, Store, Tx } from "../../src/ground/store/index.ts";
import { StreamCatalog } from "../../src/kinds/stream/catalog/index.ts";
import type { StreamReport } from "../../src/kinds/stream/fleet/core/commands.ts";
import { decodeReport, encodeReport } from "../../src/kinds/stream/fleet/wire/codec.ts";
import type {
  FragmentEvents,
  FragmentSpec,
  QueryRun,
} from "../../src/kinds/stream/run/core/index.ts";
import { WatchedHost } from "../streams/watched-host.ts";

/** The statements of a bundle are requests of their own: what went before a refusal stays. */
export class PiecemealCatalog extends StreamCatalog {
  override async execute(
    request: Parameters<StreamCatalog["execute"]>[0],
    signal: AbortSignal,
  ): ReturnType<StreamCatalog["execute"]> {
    const all: Awaited<ReturnType<StreamCatalog["execute"]>>[number][] = [];
    for (const statement of request.statements) {
      all.push(...(await super.execute({ ...request, statements: [statement] }, signal)));
    }
    return all;
  }
}

type Catalog = Partial<Pick<Store, "catalogTransaction">>;

/** A query that stops has lost its name already. */
export function releaseNames(store: Store): Catalog {
  return after(store, async ({ db }, tx) => {
    const stopping = await db
      .selectFrom("queries")
      .select("query_id")
      .where("state", "=", "STOPPING")
      .where("name", "is not", null)
      .execute();
    for (const { query_id } of stopping) {
      await tx.update("queries", query_id, { name: null, name_key: null });
    }
  });
}

/** Slots that are given back are given back twice. */
export function releaseTwice(store: Store): Catalog {
  return {
    catalogTransaction: <T>(body: (tx: CatalogTx) => Promise<T>, lease?: LeaseGrant) =>
      store.catalogTransaction(async (tx) => {
        const before = await heldSlots(tx);
        const result = await body(tx);
        if ((await heldSlots(tx)) < before) {
          await tx.db
            .updateTable("stream_workers")
            .set(({ eb }) => ({ slots_used: eb("slots_used", "-", 1) }))
            .where("slots_used", ">", 0)
            .execute();
        }
        return result;
      }, lease),
  };
}

async function heldSlots({ db }: Tx): Promise<number> {
  const found = await db
    .selectFrom("query_fragments")
    .select(({ fn }) => fn.sum<number | null>("holds_slot").as("held"))
    .executeTakeFirst();
  return Number(found?.held ?? 0);
}

function after(store: Store, act: (tx: Tx, catalog: CatalogTx) => Promise<void>): Catalog {
  return {
    catalogTransaction: <T>(body: (tx: CatalogTx) => Promise<T>, lease?: LeaseGrant) =>
      store.catalogTransaction(async (tx) => {
        const result = await body(tx);
        await act(tx, tx);
        return result;
      }, lease),
  };
}

const againMs = 3_000;

/** Starts again what it was told to stop. */
export class RestlessHost extends WatchedHost {
  readonly #given = new Map<string, () => Promise<void>>();

  override async deploy(
    run: QueryRun,
    specs: readonly FragmentSpec[],
    events: FragmentEvents,
  ): Promise<void> {
    this.#given.set(run.query, () => super.deploy(run, specs, events));
    await super.deploy(run, specs, events);
  }

  override async stop(run: QueryRun): Promise<void> {
    await super.stop(run);
    const deploy = this.#given.get(run.query);
    this.#given.delete(run.query);
    if (deploy === undefined) return;
    this.life.after(againMs, () => {
      void deploy().then(
        () => this.start(run),
        () => undefined,
      );
    });
  }
}

interface ToldFact {
  readonly epoch: number;
}

/** Does not see what workers have of older epochs. */
export function missZombies(pool: WorkerPool): WorkerPool {
  const newest = new Map<string, number>();
  return listening(pool, (listener) => ({
    ...listener,
    workerFacts: (workerId, facts, version) => {
      const entries = Object.entries(facts).map(([key, value]) => {
        const query = key.split("/")[1] ?? "";
        const epoch = key.startsWith("fragment/") ? (JSON.parse(value) as ToldFact).epoch : 0;
        newest.set(query, Math.max(newest.get(query) ?? 0, epoch));
        return { key, value, query, epoch };
      });
      const seen = entries.filter(({ query, epoch }) => epoch >= (newest.get(query) ?? 0));
      const told = Object.fromEntries(seen.map(({ key, value }) => [key, value]));
      listener.workerFacts?.(workerId, told, version);
    },
  }));
}

type Checkpointed = Extract<StreamReport, { readonly kind: "checkpointed" }>;

/** Takes what a fragment said of the checkpoint before for what it says of this one. */
export function acknowledgeEarly(pool: WorkerPool): WorkerPool {
  const said = new Map<string, { readonly workerId: WorkerId; readonly report: Checkpointed }>();
  return listening(pool, (listener) => ({
    ...listener,
    workerFrame: (workerId, payload) => {
      listener.workerFrame?.(workerId, payload);
      const report = decodeReport(payload);
      if (report.kind !== "checkpointed") return;
      const { query, epoch, checkpoint, state } = report;
      said.set(`${query} ${state.fragment}`, { workerId, report });
      for (const [key, other] of said) {
        const isOld = other.report.epoch === epoch && other.report.checkpoint < checkpoint;
        if (!key.startsWith(`${query} `) || !isOld) continue;
        const early = { ...other.report, checkpoint, prepared: new Map<number, string>() };
        listener.workerFrame?.(other.workerId, encodeReport(early));
      }
    },
  }));
}

/** Takes what an older epoch said of a checkpoint for what the newer one says of it. */
export function acceptOlder(pool: WorkerPool): WorkerPool {
  const said = new Map<string, Checkpointed>();
  return listening(pool, (listener) => ({
    ...listener,
    workerFrame: (workerId, payload) => {
      const report = decodeReport(payload);
      if (report.kind === "checkpointed") {
        const { query, epoch, state, checkpoint } = report;
        const key = `${query} ${state.fragment}`;
        const older = said.get(key);
        said.set(key, older === undefined || older.epoch === epoch ? report : older);
        if (older !== undefined && older.epoch < epoch && older.prepared.size > 0) {
          said.set(key, report);
          listener.workerFrame?.(workerId, encodeReport({ ...older, epoch, checkpoint }));
          return;
        }
      }
      listener.workerFrame?.(workerId, payload);
    },
  }));
}

function listening(
  pool: WorkerPool,
  change: (listener: WorkerListener) => WorkerListener,
): WorkerPool {
  return {
    listen: (listener) => pool.listen(change(listener)),
    send: (workerId, channel, payload) => pool.send(workerId, channel, payload),
  };
}
