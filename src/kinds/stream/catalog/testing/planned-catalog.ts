/**
 * Catalogs on one store whose statements are planned as a coordinator plans them, for tests of what
 * several requests do at one time.
 */
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import type { Store } from "../../../../ground/store/index.ts";
import {
  type Ending,
  openFresh,
  openOn,
  type StoreFixture,
} from "../../../../ground/store/testing/store-fixture.ts";
import type { CatalogSnapshot } from "../core/planner.ts";
import { ThreadPlanner } from "../planning/thread-planner.ts";
import { unreachable } from "../service/dial-worker.ts";
import { type StatementAnswer, StreamCatalog } from "../service/stream-catalog.ts";
import type { DialledWorker } from "../store/applying.ts";
import { createReadLakeTables } from "../store/read-lake-tables.ts";
import { createReadSnapshot } from "../store/read-snapshot.ts";
import { addWorkers, lease, never } from "./scripted-catalog.ts";

export interface PlannedCatalog {
  readonly store: Store;
  readonly catalog: StreamCatalog;
  /** What is at an address, for CREATE WORKER. */
  readonly network: Map<string, DialledWorker>;
  /** Workers whose sessions do not speak of streams. */
  readonly silent: Set<string>;
  /** Called after each plan, before it is applied. */
  afterPlan: () => Promise<void>;
  /** The statements are one request. */
  run(...statements: readonly string[]): Promise<readonly StatementAnswer[]>;
  snapshot(): Promise<CatalogSnapshot>;
}

/** As many catalogs as asked for, each with a connection of its own, and two workers. */
export async function openPlanned(
  fixture: StoreFixture,
  test: Ending,
  count = 1,
): Promise<readonly PlannedCatalog[]> {
  const { store, place } = await openFresh(fixture, test);
  await store.transaction(async ({ db }) => {
    const row = { ...lease, expires_at_ms: 0, api_url: "" };
    await db.insertInto("coordinator_leases").values(row).execute();
  });
  await addWorkers(store, "w1", "w2");
  const planner = new ThreadPlanner({ clock: realClock });
  test.after(() => planner.close());
  const catalogs: PlannedCatalog[] = [];
  while (catalogs.length < count) {
    const own = catalogs.length === 0 ? store : await openOn(place, test);
    catalogs.push(openCatalog(own, planner));
  }
  return catalogs;
}

function openCatalog(store: Store, planner: ThreadPlanner): PlannedCatalog {
  const silent = new Set<string>();
  const network = new Map<string, DialledWorker>();
  const readSnapshot = createReadSnapshot(
    createReadLakeTables(async () => new Map()),
    (workerId) => !silent.has(workerId),
  );
  const catalog = new StreamCatalog({
    ...{ store, readSnapshot, clock: realClock, lease: () => lease },
    planner: {
      async plan(...args) {
        const planned = await planner.plan(...args);
        await opened.afterPlan();
        return planned;
      },
    },
    dialWorker: async ({ host, grpcPort }) => {
      const found = network.get(`${host}:${grpcPort}`);
      if (found !== undefined) return found;
      throw unreachable({ host, grpcPort }, "the connection was refused");
    },
  });
  const opened: PlannedCatalog = {
    store,
    catalog,
    network,
    silent,
    afterPlan: async () => undefined,
    run: async (...statements) => await catalog.execute({ statements }, never),
    snapshot: async () => await store.read(readSnapshot),
  };
  return opened;
}
