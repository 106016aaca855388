/** The lake and its dynamic tables in a world: processes, clients and checks. */

import { LakeStore, type ObjectStore } from "../../src/data/lake/index.ts";
import { sleep } from "../../src/ground/kernel/clock.ts";
import type { Logger } from "../../src/ground/kernel/logger.ts";
import type { Prng } from "../../src/ground/kernel/prng.ts";
import type { SharedSqlite, Store } from "../../src/ground/store/index.ts";
import type { ControllerNode } from "../../src/ground/work/node/controller-node.ts";
import { createTablesParts } from "../../src/kinds/refresh/coordinator/refresh-part.ts";
import { type ClaimSettings, RefreshLoop } from "../../src/kinds/refresh/index.ts";
import { ContentsCheck } from "../checks/contents-check.ts";
import type { Counters } from "../checks/counters.ts";
import type { Finding } from "../checks/end-check.ts";
import { findStale, findStopped } from "../checks/fresh-check.ts";
import { LakeCheck } from "../checks/lake-check.ts";
import { PublishCheck } from "../checks/publish-check.ts";
import { RequestCheck } from "../checks/request-check.ts";
import { TablesReader, type TablesState } from "../checks/tables-state.ts";
import type { Verdict } from "../checks/verdict.ts";
import type { Life } from "../engine/life.ts";
import type { Timeline } from "../engine/timeline.ts";
import type { Trace } from "../engine/trace.ts";
import type { Seams } from "../seams.ts";
import type { ExecutionProbe } from "../world/sim-executor.ts";
import type { TablesSettings } from "./plan-tables.ts";
import { RefreshTraps } from "./refresh-traps.ts";
import { SimLakeWriter } from "./sim-lake-writer.ts";
import { type ObjectLink, SimObjects } from "./sim-objects.ts";
import { createSimRefresher, type RefreshProbe } from "./sim-refresher.ts";
import { TableClients, type TableService } from "./table-clients.ts";

export interface TablesWorldOptions {
  readonly settings: TablesSettings;
  readonly database: SharedSqlite;
  readonly timeline: Timeline;
  readonly trace: Trace;
  readonly verdict: Verdict;
  readonly counters: Counters;
  readonly prng: Prng;
  readonly seams: Seams;
  readonly kill: (life: Life, dark: boolean, restartMs: number) => void;
}

/** What a process does for tables. */
export interface TablesProcess {
  start(): void;
  stop(): Promise<void>;
}

/** How often everything is checked. */
const lookMs = 60_000;

export class TablesWorld {
  readonly objects = new SimObjects();
  readonly traps: RefreshTraps;
  readonly clients: TableClients;
  readonly #options: TablesWorldOptions;
  readonly #reader: TablesReader;
  readonly #publications: PublishCheck;
  readonly #requests: RequestCheck;
  readonly #contents: ContentsCheck;
  readonly #lake: LakeCheck;
  #state: TablesState;
  #mark: string;
  /** After healing, refreshes are quick and no longer fail. */
  #isHealed = false;

  constructor(options: TablesWorldOptions) {
    this.#options = options;
    const { database, timeline, verdict, counters, settings, kill } = options;
    this.traps = new RefreshTraps({ timeline, counters, kill });
    this.#reader = new TablesReader(database, () => timeline.nowMs);
    this.#publications = new PublishCheck(this.#reader, verdict, counters);
    this.#requests = new RequestCheck(verdict, counters);
    this.#contents = new ContentsCheck(this.#reader, this.objects, verdict, counters);
    this.#lake = new LakeCheck(this.#reader, this.objects, verdict);
    this.clients = new TableClients(settings.plainCount, this.#contents, counters);
    this.#state = this.#reader.read();
    this.#mark = this.#reader.readMark();
  }

  get settings(): TablesSettings {
    return this.#options.settings;
  }

  /** `service` returns that of the current leader. */
  start(service: () => TableService | undefined): void {
    for (let index = 0; index < this.settings.plainCount; index += 1) {
      this.#createPlain(index, service);
    }
    this.#look();
  }

  heal(): void {
    this.objects.disarm();
    this.traps.disarm();
    this.#isHealed = true;
  }

  /** Called after every transaction that may have written. */
  transactionEnded(isCatalog: boolean): void {
    if (!isCatalog) return;
    const before = this.#state;
    const mark = this.#reader.readMark();
    if (mark === this.#mark) {
      // Only claims may have been extended.
      this.#state = { ...before, claims: this.#reader.readClaims() };
      return;
    }
    this.#mark = mark;
    const after = this.#reader.read();
    this.#state = after;
    this.#options.trace.note("tables", mark);
    if (after.snapshot > before.snapshot) this.#contents.committed(before.snapshot);
    this.#contents.defined(after);
    for (const row of this.#publications.changed(before, after)) {
      this.#contents.moved(row, after);
    }
    this.#requests.changed(before, after);
  }

  findStale(sinceMs: number): Finding | undefined {
    return findStale(this.#state, sinceMs);
  }

  findStopped(): Finding | undefined {
    return findStopped(this.#state);
  }

  findLeftover(): Finding | undefined {
    this.#lake.check();
    return this.#lake.findLeftover(this.#options.timeline.nowMs, this.settings);
  }

  /** The table service of a coordinator. */
  service(life: Life, node: ControllerNode, store: Store): TableService {
    const prng = this.#options.prng.fork(`service ${life.name} ${life.number}`);
    return {
      life,
      store,
      catalog: new LakeStore({ store, prng: prng.fork("lake") }),
      objects: this.#link(life, prng),
      manager: node.manager,
    };
  }

  coordinator(service: TableService, node: ControllerNode, logger: Logger): TablesProcess {
    const { settings, prng, seams } = this.#options;
    const { life, store, catalog, objects } = service;
    const { snapshotMsMax, graceMs, orphanMs, mergeFilesMin } = settings;
    const parts = createTablesParts({
      node,
      store,
      catalog,
      objects: objects as Partial<ObjectStore> as ObjectStore, // Upkeep lists and deletes.
      clock: life,
      metrics: undefined,
      prng: prng.fork(`parts ${life.name} ${life.number}`),
      logger,
      claims: this.#claimSettings(),
      upkeep: {
        everyMs: settings.upkeepMs,
        limits: {
          snapshotMsMax,
          graceMs,
          orphanMsMin: orphanMs,
          mergeFilesMin,
          mergeFilesMax: 8,
          rewriteDeletedShare: 0.5,
        },
      },
      parts: seams.tablesParts,
    });
    return {
      start: () => parts.start(),
      stop: () => Promise.race([parts.stop(), sleep(life, 2_000)]),
    };
  }

  /** As `src/worker/main.ts` does it. */
  worker(life: Life, store: Store, logger: Logger): TablesProcess & { begin(): Promise<void> } {
    const { settings, seams } = this.#options;
    const prng = this.#options.prng.fork(`worker ${life.name} ${life.number}`);
    const catalog = new LakeStore({ store, prng: prng.fork("catalog") });
    const Claims = seams.tablesParts.StoreRefreshClaims;
    const settingsOfClaims = { prng: prng.fork("claims"), pins: catalog, ...this.#claimSettings() };
    const claims = new Claims(store, settingsOfClaims);
    const probe = this.#refreshProbe();
    const loop = new RefreshLoop({
      workerId: life.name,
      claims: {
        claim: (request) => claims.claim(request),
        heartbeat: async (claim) => {
          const sentMs = this.#options.timeline.nowMs;
          const isHeld = await claims.heartbeat(claim);
          const { leaseMs } = settings;
          if (isHeld) this.#publications.extended(this.#state, claim.token, sentMs, leaseMs);
          return isHeld;
        },
        publish: async (claim, result) => {
          const outcome = await claims.publish(claim, result);
          this.#options.counters.add(`tables: publish, ${outcome.kind}`);
          this.traps.reached(life, "published");
          return outcome;
        },
        fail: (claim, failure) => claims.fail(claim, failure),
        release: (claim, reason) => claims.release(claim, reason),
      },
      refresher: createSimRefresher({
        life,
        catalog,
        objects: this.#link(life, prng),
        prng: prng.fork("refresh"),
        probe,
        runMs: () => this.#refreshMs(prng),
      }),
      onPoke: (listener) => store.onPoke(listener),
      clock: life,
      prng: prng.fork("polls"),
      logger,
      slots: settings.slots,
      heartbeatMs: settings.heartbeatMs,
    });
    return {
      begin: async () => void (await claims.expireWorker(life.name, "the worker started anew")),
      start: () => loop.start(),
      stop: () => Promise.race([loop.stop(), sleep(life, 5_000)]),
    };
  }

  writer(life: Life, probe: ExecutionProbe): SimLakeWriter {
    const prng = this.#options.prng.fork(`writer ${life.name} ${life.number}`);
    const objects = this.#link(life, prng);
    return new SimLakeWriter({ life, objects, prng, probe, merge: this.#options.seams.merge });
  }

  #refreshMs(prng: Prng): number {
    if (this.#isHealed) return 20;
    const draw = prng.next();
    if (draw < 0.85) return prng.next() * this.settings.refreshMs;
    // Longer than a claim holds without being extended.
    return prng.next() * 2 * this.settings.leaseMs;
  }

  #claimSettings(): Partial<ClaimSettings> {
    const { leaseMs, suspendAfterMs, lossesMax } = this.settings;
    const backoff = { minMs: 200, maxMs: 8_000 };
    return { leaseMs, suspendAfterMs, seldomMsMax: 20_000, lossesMax, backoff };
  }

  #refreshProbe(): RefreshProbe {
    const { verdict, trace } = this.#options;
    return {
      reached: (life, step, { token }) => {
        trace.note(step, life.name, token);
        this.traps.reached(life, step);
      },
      missing: (life, { tableId, token }, what) => {
        verdict.require(!this.#isHeld(token), "I23", () => {
          return `${life.name}, which refreshes table ${tableId} with ${token}, needs ${what}`;
        });
      },
      inconsistent: (life, { tableId, token }, what) => {
        verdict.require(!this.#isHeld(token), "I20", () => {
          return `${life.name}, refreshing table ${tableId} with ${token}: ${what}`;
        });
      },
    };
  }

  /**
   * A worker whose claim was taken over may go on for a while, over data that its successor has
   * published. What it finds does not matter, because it cannot publish.
   */
  #isHeld(token: number): boolean {
    return this.#state.claims.values().some((claim) => claim.token === token);
  }

  #link(life: Life, prng: Prng): ObjectLink {
    const { timeline, counters, trace, seams } = this.#options;
    return new seams.ObjectLink({
      objects: this.objects,
      life,
      timeline,
      prng: prng.fork("objects"),
      probe: {
        deleted: (of, path) => {
          trace.note("deleted", path);
          this.#lake.deleted(of.name, path);
        },
        failed: () => counters.add("lake: object store failed"),
      },
    });
  }

  /** Retries until the table exists. */
  #createPlain(index: number, service: () => TableService | undefined): void {
    let isDone = false;
    const attempt = (): void => {
      if (isDone) return;
      const current = service();
      this.#options.timeline.after(current === undefined ? 300 : 3_000, attempt);
      if (current === undefined) return;
      this.clients.createPlain(current, index, (code) => {
        isDone ||= code === "done" || code === "already_exists";
      });
    };
    attempt();
  }

  #look(): void {
    this.#options.timeline.after(lookMs, () => {
      this.#lake.check();
      this.#look();
    });
  }
}
