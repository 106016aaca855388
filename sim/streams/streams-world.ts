/** Continuous queries in a world: processes, what people ask for, and checks. */
import { findOrCreateTable } from "../../src/data/lake/index.ts";
import type { Dialer } from "../../src/ground/cluster/index.ts";
import { OperatingError } from "../../src/ground/kernel/errors.ts";
import type { Logger } from "../../src/ground/kernel/logger.ts";
import type { Prng } from "../../src/ground/kernel/prng.ts";
import type { SharedSqlite, Store } from "../../src/ground/store/index.ts";
import type { ControllerNode } from "../../src/ground/work/node/controller-node.ts";
import type { QueryRow } from "../../src/kinds/stream/catalog/core/index.ts";
import { BundleCheck } from "../checks/bundle-check.ts";
import { CatalogSubscriber, TableLog } from "../checks/catalog-watch-check.ts";
import type { Counters } from "../checks/counters.ts";
import type { Finding } from "../checks/end-check.ts";
import { FragmentsCheck } from "../checks/fragments-check.ts";
import { ResultsCheck } from "../checks/results-check.ts";
import type { ChangeRow } from "../checks/store-audit.ts";
import { StreamsReader } from "../checks/streams-state.ts";
import { TransitionCheck, type WorkerOf } from "../checks/transition-check.ts";
import type { Verdict } from "../checks/verdict.ts";
import type { Life } from "../engine/life.ts";
import type { Timeline } from "../engine/timeline.ts";
import type { Trace } from "../engine/trace.ts";
import type { LeaderFaults } from "../load/phase-traps.ts";
import { SimObjects } from "../tables/sim-objects.ts";
import type { NetworkConditions } from "../world/network-conditions.ts";
import { LeaderTraps } from "./leader-traps.ts";
import type { StreamAction, StreamsSettings } from "./plan-streams.ts";
import type { SinkTable } from "./sim-connectors.ts";
import { SimExchange } from "./sim-exchange.ts";
import { type StreamFile, StreamObjects } from "./stream-files.ts";
import {
  createStreamCoordinator,
  createStreamWorker,
  type StreamCoordinator,
  type StreamWorkerProcess,
} from "./stream-processes.ts";
import type { StreamSeams } from "./stream-seams.ts";
import { definitions, sinkColumns, statementsOf, workerStatements } from "./stream-statements.ts";

export interface StreamsWorldOptions {
  readonly settings: StreamsSettings;
  readonly database: SharedSqlite;
  readonly conditions: NetworkConditions;
  readonly timeline: Timeline;
  readonly trace: Trace;
  readonly verdict: Verdict;
  readonly counters: Counters;
  readonly prng: Prng;
  readonly leader: LeaderFaults;
  readonly seams: StreamSeams;
}

const never = new AbortController().signal;

export class StreamsWorld {
  readonly exchange: SimExchange;
  readonly objects = new SimObjects<StreamFile>();
  readonly #options: StreamsWorldOptions;
  readonly #tables = new Map<string, SinkTable>();
  readonly #workers = new Map<string, StreamWorkerProcess>();
  readonly #reader: StreamsReader;
  readonly #transitions: TransitionCheck;
  readonly #results: ResultsCheck;
  readonly #fragments: FragmentsCheck;
  readonly #bundles: BundleCheck;
  readonly #log = new TableLog();
  /** By the coordinators that run. */
  readonly #subscribers = new Map<string, CatalogSubscriber>();
  readonly traps: LeaderTraps;
  #requests = 0;
  #hasChanged = false;
  #isDefined = false;

  constructor(options: StreamsWorldOptions) {
    this.#options = options;
    const { timeline, conditions, prng, database, verdict, counters } = options;
    this.#reader = new StreamsReader(database.connection);
    this.#transitions = new TransitionCheck(this.#reader, verdict, counters);
    this.#results = new ResultsCheck(this.#reader, this.objects, verdict, counters);
    this.#fragments = new FragmentsCheck(this.#reader, verdict, counters);
    this.#bundles = new BundleCheck(this.#reader, verdict);
    this.traps = new LeaderTraps(timeline, counters, options.leader);
    this.exchange = new SimExchange({ timeline, conditions, prng: prng.fork("exchange") });
  }

  get settings(): StreamsSettings {
    return this.#options.settings;
  }

  /** `leader` returns the streams of the current one. */
  start(leader: () => StreamCoordinator | undefined): void {
    this.#define(leader, [...workerStatements(this.settings), ...definitions(this.settings)]);
  }

  coordinator(
    life: Life,
    node: ControllerNode,
    store: Store,
    dialer: Dialer,
    logger: Logger,
  ): StreamCoordinator {
    const { settings } = this;
    const prng = this.#options.prng.fork(`coordinator ${life.name} ${life.number}`);
    const objects = this.#link(life, prng);
    const { seams } = this.#options;
    const parts = { life, node, seams, store, dialer, objects, settings, prng, logger };
    return createStreamCoordinator(parts);
  }

  worker(life: Life, logger: Logger): StreamWorkerProcess {
    const prng = this.#options.prng.fork(`worker ${life.name} ${life.number}`);
    const process = createStreamWorker({
      ...{ life, exchange: this.exchange, objects: this.#link(life, prng), logger },
      probe: this.#fragments,
      seams: this.#options.seams,
      tableOf: (name) => this.#tables.get(name),
      newPath: (folder) => `${folder}${this.objects.newName()}`,
    });
    this.#workers.set(life.name, process);
    return process;
  }

  lifeEnded(life: Life, dark: boolean): void {
    this.exchange.lifeEnded(life, dark);
    this.#fragments.lifeEnded(life);
  }

  /** A fault was inflicted, in whatever states the queries are. */
  faulted(kind: string): void {
    const states = new Set(this.#reader.queries.values().map(({ state }) => state));
    for (const state of states) this.#options.counters.add(`${kind} while ${state}`);
  }

  heal(): void {
    this.objects.disarm();
    this.traps.disarm();
  }

  act(leader: StreamCoordinator, action: StreamAction): void {
    if (!this.#isDefined) return;
    this.#requests += 1;
    const number = this.#requests;
    const statements = statementsOf(action, number);
    const queries = statements.filter((text) => /^CREATE .*QUERY/.test(text)).length;
    this.#bundles.asked(number, queries);
    this.#ask(leader, action.kind, statements, (code) => this.#bundles.answered(number, code));
  }

  newSubscriber(name: string): CatalogSubscriber {
    const { verdict, counters } = this.#options;
    const subscriber = new CatalogSubscriber(name, this.#log, verdict, counters);
    this.#subscribers.set(name, subscriber);
    return subscriber;
  }

  /** Called after every transaction that may have written. */
  transactionEnded(isCatalog: boolean): void {
    if (!isCatalog) return;
    if (this.#hasChanged) this.#checkRows();
    this.#hasChanged = false;
    this.#bundles.committed();
    if (this.#results.committed()) this.traps.reached("checkpoint");
  }

  /** A row of the catalog changed, in the transaction that is about to end. */
  changed(row: ChangeRow, workerOf: WorkerOf): void {
    if (row.table_name === "queries") this.#log.changes.push(row);
    const change = this.#reader.apply(row);
    if (change === undefined) return;
    this.#hasChanged = true;
    this.#transitions.changed(change, workerOf);
    if (change.table === "queries") this.#queryChanged(change.before, change.after);
  }

  #queryChanged(before: QueryRow | undefined, after: QueryRow | undefined): void {
    if (before === undefined && after !== undefined) this.#bundles.created(after.query_id);
    if (after !== undefined && before?.state !== after.state) this.traps.reached(after.state);
    if (before !== undefined && after === undefined) this.#fragments.removed(before.query_id);
    if (before?.state !== "STOPPING" || after === undefined || after.state === "STOPPING") return;
    const isLate =
      this.#options.timeline.nowMs - before.state_changed_at_ms >= this.settings.softStopMs;
    if (!isLate) this.#fragments.stoppedQuery(before);
  }

  #checkRows(): void {
    const { verdict } = this.#options;
    this.#transitions.ended();
    const table = this.#reader.difference();
    verdict.require(table === undefined, "I7", () => `the log and the table ${table} differ`);
  }

  /** Once faults are healed. */
  findUnsettled(): Finding | undefined {
    for (const { query_id: queryId, state, desired_state } of this.#reader.queries.values()) {
      if (state === desired_state || state === "FAILED" || state === "TERMINATED") continue;
      // A paused query has given its slots back, and waits for others to be free.
      if (state === "PAUSED" && this.#isAnyFull()) continue;
      const detail = `the query ${queryId} is ${state}, and wanted to be ${desired_state}`;
      return { invariant: "I50", detail };
    }
    return this.#fragments.find() ?? this.#findLeft();
  }

  #isAnyFull(): boolean {
    return this.#reader.slots().some(({ slots, slots_used }) => slots_used === slots);
  }

  /** What a worker still has of fragments that are gone. */
  #findLeft(): Finding | undefined {
    const finding = (detail: string): Finding => ({ invariant: "I50", detail });
    for (const [name, subscriber] of this.#subscribers) {
      if (!subscriber.isCaughtUp()) {
        return { invariant: "I48", detail: `${name} has fallen behind` };
      }
    }
    for (const [name, { life, hub, facts }] of this.#workers) {
      if (life.isDown) continue;
      const edges = this.#fragments.edgesOf(life);
      if (hub.count !== edges)
        return finding(`${name} has ${hub.count} edges, and ${edges} are read`);
      for (const fact of facts) {
        const row = this.#reader.fragments.get(fact.replace(/^fragment\//, ""));
        if (row?.worker_id !== name) return finding(`${name} says that it has ${fact}`);
      }
    }
    return undefined;
  }

  #ask(
    { life, catalog }: StreamCoordinator,
    what: string,
    statements: readonly string[],
    answered: (code: string) => void = () => undefined,
  ): void {
    const { counters, trace } = this.#options;
    if (trace.printing) trace.say(`${what}: ${statements.join("; ")}`);
    const finish = (code: string, message = ""): void => {
      counters.add(`${what}: ${code}`);
      trace.note(code, what);
      if (trace.printing && message !== "") trace.say(message);
      answered(code);
    };
    const ask = async (): Promise<void> => {
      try {
        await catalog.execute({ statements }, never);
        finish("done");
      } catch (thrown) {
        if (!(thrown instanceof OperatingError)) throw thrown;
        finish(thrown.code, thrown.message);
      }
    };
    life.receive(() => void ask());
  }

  /** One statement after the other, each until it is there. */
  #define(leader: () => StreamCoordinator | undefined, left: readonly string[]): void {
    const { timeline } = this.#options;
    const [first, ...others] = left;
    if (first === undefined) {
      this.#makeTables(leader);
      return;
    }
    let isOver = false;
    const next = (remaining: readonly string[], afterMs: number): void => {
      if (isOver) return;
      isOver = true;
      timeline.after(afterMs, () => this.#define(leader, remaining));
    };
    const asked = leader();
    // Whoever was asked may have died.
    timeline.after(10_000, () => next(left, 0));
    if (asked === undefined) {
      next(left, 300);
      return;
    }
    this.#ask(asked, "stream_define", [first], (code) => {
      if (code === "done" || code === "AlreadyExists") next(others, 0);
      else next(left, 300);
    });
  }

  #makeTables(leader: () => StreamCoordinator | undefined): void {
    const { timeline } = this.#options;
    const asked = leader();
    const make = async (): Promise<void> => {
      if (asked === undefined) return;
      try {
        await asked.lake.declareDataPath("/lake/");
        for (const [name, columns] of sinkColumns()) await this.#makeTable(asked, name, columns);
        this.#isDefined = true;
      } catch (thrown) {
        if (!(thrown instanceof OperatingError)) throw thrown;
      }
    };
    asked?.life.receive(() => void make());
    timeline.after(3_000, () => {
      if (!this.#isDefined) this.#makeTables(leader);
    });
  }

  async #makeTable(
    { lake, life }: StreamCoordinator,
    name: string,
    names: readonly string[],
  ): Promise<void> {
    const columns = names.map((column) => ({
      ...{ name: column, type: "UBIGINT", nullable: true, defaultValue: undefined },
    }));
    const prng = this.#options.prng.fork(`table ${name} ${life.number}`);
    const { table, snapshot } = await findOrCreateTable(
      { catalog: lake, prng },
      { name, columns },
      "sim",
    );
    this.#tables.set(name, { ...table, snapshot });
  }

  #link(life: Life, prng: Prng): StreamObjects {
    const { timeline, counters } = this.#options;
    return new StreamObjects({
      ...{ objects: this.objects, life, timeline, prng: prng.fork("objects") },
      probe: {
        deleted: () => counters.add("streams: object deleted"),
        failed: () => counters.add("streams: object store failed"),
      },
    });
  }
}
