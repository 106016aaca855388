/**
 * What workers really run, told by their hosts, against what the catalog says: the second half of
 * I42, I44 and I46, and I50.
 */
import type { FragmentSpec, QueryRun } from "../../src/kinds/stream/run/core/index.ts";
import { runName } from "../../src/kinds/stream/run/core/stream-host.ts";
import type { Life } from "../engine/life.ts";
import type { Counters } from "./counters.ts";
import type { Finding } from "./end-check.ts";
import type { StreamsReader } from "./streams-state.ts";
import type { Verdict } from "./verdict.ts";

interface LiveRun {
  readonly run: QueryRun;
  /** Those that have not ended, with the number of edges that end in each. */
  readonly fragments: Map<string, number>;
  isStarted: boolean;
}

/** Called by the hosts of workers, as things happen. */
export interface HostProbe {
  deployed(life: Life, run: QueryRun, specs: readonly FragmentSpec[]): void;
  started(life: Life, run: QueryRun): void;
  ended(life: Life, run: QueryRun, fragment: string): void;
  stopped(life: Life, run: QueryRun): void;
}

export class FragmentsCheck implements HostProbe {
  readonly #reader: StreamsReader;
  readonly #verdict: Verdict;
  readonly #counters: Counters;
  readonly #live = new Map<Life, Map<string, LiveRun>>();
  /** The newest epoch of each query that a process was given. */
  readonly #newest = new Map<Life, Map<string, number>>();
  /** Whatever was deployed anywhere. */
  readonly #deployed = new Set<string>();
  /** The queries whose rows were there and are gone. */
  readonly #gone = new Set<string>();

  constructor(reader: StreamsReader, verdict: Verdict, counters: Counters) {
    this.#reader = reader;
    this.#verdict = verdict;
    this.#counters = counters;
  }

  /** The row of the query is gone, and its name is free. */
  removed(queryId: string): void {
    this.#gone.add(queryId);
    for (const [life, runs] of this.#live) {
      for (const { run, fragments } of runs.values()) {
        this.#verdict.require(run.query !== queryId || fragments.size === 0, "I44", () => {
          return `the query ${queryId} is gone, and ${life.name} still has epoch ${run.epoch} of it`;
        });
      }
    }
  }

  deployed(life: Life, run: QueryRun, specs: readonly FragmentSpec[]): void {
    this.#requireThere(life, run, "deploys");
    const newest = this.#newestOf(life);
    const known = newest.get(run.query) ?? 0;
    this.#verdict.require(run.epoch >= known, "I46", () => {
      return `${life.name} deploys epoch ${run.epoch} of the query ${run.query} after ${known}`;
    });
    newest.set(run.query, run.epoch);
    const fragments = new Map(
      specs.map((spec) => [spec.fragment, [...spec.in.values()].flat().length]),
    );
    for (const fragment of fragments.keys()) this.#deployed.add(`${runName(run)} ${fragment}`);
    this.#runsOf(life).set(runName(run), { run, fragments, isStarted: false });
  }

  started(life: Life, run: QueryRun): void {
    this.#requireThere(life, run, "starts");
    const known = this.#runsOf(life).get(runName(run));
    if (known === undefined) return;
    known.isStarted = true;
    const newest = this.#newestOf(life).get(run.query) ?? 0;
    this.#verdict.require(run.epoch >= newest, "I46", () => {
      return `${life.name} starts epoch ${run.epoch} of the query ${run.query} after ${newest}`;
    });
    for (const { fragment, epoch } of this.#reader.fragmentsOf(run.query)) {
      const isThere = epoch !== run.epoch || this.#deployed.has(`${runName(run)} ${fragment}`);
      this.#verdict.require(isThere, "I42", () => {
        return `${life.name} starts the query ${run.query}, whose fragment ${fragment} was deployed nowhere`;
      });
    }
  }

  ended(life: Life, run: QueryRun, fragment: string): void {
    this.#runsOf(life).get(runName(run))?.fragments.delete(fragment);
  }

  stopped(life: Life, run: QueryRun): void {
    this.#runsOf(life).delete(runName(run));
  }

  lifeEnded(life: Life): void {
    const runs = this.#live.get(life);
    if (runs !== undefined && runs.size > 0) this.#counters.add("streams: fragments lost");
    this.#live.delete(life);
    this.#newest.delete(life);
  }

  /** How many edges end in the fragments of the process. */
  edgesOf(life: Life): number {
    const runs = [...(this.#live.get(life)?.values() ?? [])];
    return runs
      .flatMap(({ fragments }) => [...fragments.values()])
      .reduce((sum, edges) => sum + edges, 0);
  }

  /** I50: what runs and should not, or should and does not. */
  find(): Finding | undefined {
    const finding = (detail: string): Finding => ({ invariant: "I50", detail });
    const running = new Set<string>();
    for (const [life, runs] of this.#live) {
      for (const { run, fragments, isStarted } of runs.values()) {
        for (const fragment of fragments.keys()) {
          if (isStarted) running.add(`${runName(run)} ${fragment} ${life.name}`);
          const row = this.#reader.fragments.get(`${run.query}/${fragment}`);
          const isWanted =
            row?.worker_id === life.name && row.epoch === run.epoch && row.state === "RUNNING";
          if (!isWanted) {
            return finding(`${life.name} has ${fragment} of ${runName(run)}, which nobody wants`);
          }
        }
      }
    }
    for (const row of this.#reader.fragments.values()) {
      const { query_id: query, epoch, fragment, worker_id, state } = row;
      const name = `${runName({ query, epoch })} ${fragment} ${worker_id}`;
      if (state === "RUNNING" && !running.has(name)) return finding(`nobody runs ${name}`);
    }
    return undefined;
  }

  #requireThere(life: Life, { query, epoch }: QueryRun, does: string): void {
    this.#verdict.require(!this.#gone.has(query), "I44", () => {
      return `${life.name} ${does} epoch ${epoch} of the query ${query}, whose row is gone`;
    });
  }

  #runsOf(life: Life): Map<string, LiveRun> {
    const known = this.#live.get(life);
    if (known !== undefined) return known;
    const runs = new Map<string, LiveRun>();
    if (!life.isDown) this.#live.set(life, runs);
    return runs;
  }

  #newestOf(life: Life): Map<string, number> {
    const known = this.#newest.get(life);
    if (known !== undefined) return known;
    const epochs = new Map<string, number>();
    this.#newest.set(life, epochs);
    return epochs;
  }
}
