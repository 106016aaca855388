/**
 * What workers really run, told by their hosts, against what the catalog says: the second half of
 * I42, I44 and I46, I50 and I51.
 */
import type { QueryRow } from "../../src/kinds/stream/catalog/core/index.ts";
import type {
  EncodedFragment,
  FragmentSpec,
  QueryRun,
} from "../../src/kinds/stream/run/core/index.ts";
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
  /** Without a state it failed. */
  ended(life: Life, run: QueryRun, fragment: string, state: EncodedFragment | undefined): void;
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
  /** Where the sources of a run were when it ended, by their nodes. */
  readonly #positions = new Map<string, Map<string, string>>();
  /** Runs of which something was lost, or stopped at once. */
  readonly #disturbed = new Set<string>();
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

  ended(life: Life, run: QueryRun, fragment: string, state: EncodedFragment | undefined): void {
    this.#runsOf(life).get(runName(run))?.fragments.delete(fragment);
    if (state === undefined) {
      this.#disturbed.add(runName(run));
      return;
    }
    const positions = this.#positions.get(runName(run)) ?? new Map<string, string>();
    for (const [node, position] of state.positions) positions.set(`${node}`, position);
    this.#positions.set(runName(run), positions);
  }

  stopped(life: Life, run: QueryRun): void {
    const known = this.#runsOf(life).get(runName(run));
    if (known !== undefined && known.fragments.size > 0) this.#disturbed.add(runName(run));
    this.#runsOf(life).delete(runName(run));
  }

  /** I51: a query that was stopped softly, in time and by nothing else, has everything. */
  stoppedQuery({
    query_id: query,
    epoch,
    stop_mode,
    desired_state,
    previous_state,
  }: QueryRow): void {
    const isSoft = stop_mode === "SOFT" || desired_state === "PAUSED";
    const name = runName({ query, epoch });
    if (!isSoft || previous_state !== "RUNNING" || this.#disturbed.has(name)) return;
    const text = this.#reader.manifest(query);
    const { fragments } = JSON.parse(text ?? '{"fragments":[]}') as {
      readonly fragments: readonly { readonly positions: Readonly<Record<string, string>> }[];
    };
    const recorded = new Map(fragments.flatMap(({ positions }) => Object.entries(positions)));
    this.#counters.add("streams: soft stop");
    for (const [node, position] of this.#positions.get(name) ?? []) {
      this.#verdict.require(recorded.get(node) === position, "I51", () => {
        return `the query ${query} was stopped softly with ${position} rows read of source ${node}, and ${recorded.get(node)} count`;
      });
    }
  }

  lifeEnded(life: Life): void {
    const runs = this.#live.get(life);
    for (const name of runs?.keys() ?? []) this.#disturbed.add(name);
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
