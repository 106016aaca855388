/**
 * The catalog's service on a store, with a planner whose statements are the changes themselves, as
 * JSON: for tests of requests, whatever the language says.
 */
import type { TestContext } from "node:test";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import type { LeaseGrant, Store, Tx } from "../../../../ground/store/index.ts";
import { openFresh, type StoreFixture } from "../../../../ground/store/testing/store-fixture.ts";
import { workerRow } from "../../../../ground/store/testing/worker-row.ts";
import type {
  CatalogChange,
  CatalogQuestion,
  CreateLogicalSource,
  CreatePhysicalSource,
  CreateQuery,
  CreateSink,
  CreateWorker,
  DropObject,
} from "../core/changes.ts";
import type { CatalogSnapshot, Planned } from "../core/planner.ts";
import { type StatementAnswer, StreamCatalog } from "../service/stream-catalog.ts";
import type { DialledWorker } from "../store/applying.ts";

export interface ScriptedCatalog {
  readonly store: Store;
  readonly catalog: StreamCatalog;
  /** What is at an address. */
  readonly network: Map<string, DialledWorker>;
  readonly dials: string[];
  /** Called after each plan, before it is applied. */
  afterPlan: () => Promise<void>;
  plans: number;
  leads: boolean;
  run(...changes: readonly CatalogChange[]): Promise<readonly StatementAnswer[]>;
  ask(question: CatalogQuestion): Promise<StatementAnswer>;
}

export const lease = { name: "coordinator", holder: "c", epoch: 1 } as LeaseGrant;
export const never = new AbortController().signal;

export async function openScripted(
  fixture: StoreFixture,
  test: TestContext,
): Promise<ScriptedCatalog> {
  const { store } = await openFresh(fixture, test);
  await store.transaction(async ({ db }) => {
    const row = { ...lease, expires_at_ms: 0, api_url: "" };
    await db.insertInto("coordinator_leases").values(row).execute();
  });
  const network = new Map<string, DialledWorker>();
  const dials: string[] = [];
  const catalog = new StreamCatalog({
    store,
    lease: () => (scripted.leads ? lease : undefined),
    planner: {
      async plan(statements) {
        scripted.plans += 1;
        const planned = statements.map((each) => JSON.parse(String(each)) as Planned);
        await scripted.afterPlan();
        return planned;
      },
    },
    readSnapshot: readVersion,
    dialWorker: async ({ host, grpcPort }) => {
      const address = `${host}:${grpcPort}`;
      dials.push(address);
      const found = network.get(address);
      if (found !== undefined) return found;
      throw new OperatingError("NetworkError", "backoff", `nobody is at ${address}`);
    },
    clock: realClock,
    requestsMax: 4,
  });
  const scripted: ScriptedCatalog = {
    store,
    catalog,
    network,
    dials,
    afterPlan: async () => undefined,
    plans: 0,
    leads: true,
    run: async (...changes) =>
      await catalog.execute({ statements: changes.map(statementOf) }, never),
    ask: async (question) => {
      const statements = [JSON.stringify({ kind: "question", question })];
      const [answer] = await catalog.execute({ statements }, never);
      return answer as StatementAnswer;
    },
  };
  return scripted;
}

export function statementOf(change: CatalogChange): string {
  return JSON.stringify({ kind: "change", change });
}

async function readVersion({ db }: Tx): Promise<CatalogSnapshot> {
  const { version } = await db
    .selectFrom("stream_catalog")
    .select("version")
    .executeTakeFirstOrThrow();
  const topology = { workers: [], links: [] };
  return {
    version,
    logicalSources: [],
    physicalSources: [],
    sinks: [],
    tables: undefined,
    topology,
  };
}

export async function addWorkers(store: Store, ...ids: readonly string[]): Promise<void> {
  await store.catalogTransaction(async (tx) => {
    for (const id of ids) {
      const host_name = `host-${id}`;
      await tx.insert("workers", workerRow(id, { host_name }));
    }
  });
}

const schema = [{ name: "ts", type: { name: "UINT64", nullable: false } }] as const;

export function source(name: string, more: Partial<CreateLogicalSource> = {}): CreateLogicalSource {
  return {
    kind: "createLogicalSource",
    name,
    ifNotExists: false,
    sourceKind: "LOGICAL",
    schema,
    watermark: undefined,
    definition: undefined,
    uses: [],
    ...more,
  };
}

export function physical(
  sourceId: string,
  more: Partial<CreatePhysicalSource> = {},
): CreatePhysicalSource {
  return {
    kind: "createPhysicalSource",
    ifNotExists: false,
    sourceId,
    logicalName: "bids",
    placement: undefined,
    type: "File",
    config: { FILE_PATH: "a.csv" },
    parser: { TYPE: "CSV" },
    ...more,
  };
}

export function sink(name: string, more: Partial<CreateSink> = {}): CreateSink {
  return {
    kind: "createSink",
    name,
    ifNotExists: false,
    schema,
    placement: undefined,
    type: "File",
    config: { FILE_PATH: "out.csv" },
    formatter: { TYPE: "CSV" },
    ...more,
  };
}

export function query(name: string | undefined, more: Partial<CreateQuery> = {}): CreateQuery {
  return {
    kind: "createQuery",
    name,
    ifNotExists: false,
    replaces: false,
    isPreview: false,
    statement: "SELECT ts FROM bids INTO hot",
    guarantee: "exactly once",
    plan: { version: 1, plan: { version: 1, nodes: [], settings: {} as never }, fragments: [] },
    placement: [
      { fragment: "f0", workerId: "w1", isPinned: false },
      { fragment: "f1", workerId: "w2", isPinned: false },
    ],
    logicalSources: [],
    physicalSources: [],
    sinks: [],
    tables: [],
    ...more,
  };
}

export function worker(host: string, more: Partial<CreateWorker> = {}): CreateWorker {
  return {
    kind: "createWorker",
    label: undefined,
    ifNotExists: false,
    host,
    grpcPort: 4_601,
    dataPort: undefined,
    slots: 10,
    peers: [],
    ...more,
  };
}

export function drop(
  object: DropObject["object"],
  name: string,
  mode: DropObject["mode"] = "HARD",
): DropObject {
  return { kind: "drop", object, name, ifExists: false, mode };
}
