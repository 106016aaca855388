/**
 * The fragments of a query that run here, out of those at all its places: the others are in other
 * processes, which compute the same fragments from the same plan: each process has a lane. When a
 * fragment fails, those here are closed; the others notice by their edges.
 */
import type { Plan } from "../../language/core/index.ts";
import {
  cutFragments,
  type FragmentedPlan,
  type PlanFragment,
  specOf,
} from "../core/plan-fragments.ts";
import { type FragmentProgress, sumProgress } from "../core/progress.ts";
import type { QueryRun, StreamHost } from "../core/stream-host.ts";
import { causeOf } from "./cause-of.ts";

export interface FragmentSetOptions {
  readonly run: QueryRun;
  readonly plan: Plan;
  /** The exchange ports of all places. */
  readonly addresses: readonly string[];
  readonly here: number;
  readonly host: StreamHost;
}

export interface FragmentSetResult {
  /** Rows that came from fragments of other places. */
  readonly rowsCrossed: number;
  /** Rows that each fragment with keys received, by its name. */
  readonly keyedRows: Readonly<Record<string, number>>;
}

export class FragmentSet {
  readonly #options: FragmentSetOptions;
  readonly #cut: FragmentedPlan;
  readonly #fragments: readonly PlanFragment[];
  readonly #ended = new Map<string, FragmentProgress>();
  readonly #failures: unknown[] = [];
  readonly #over = Promise.withResolvers<void>();

  constructor(options: FragmentSetOptions) {
    this.#options = options;
    this.#cut = cutFragments(options.plan, options.addresses.length);
    this.#fragments = this.#cut.fragments.filter(({ lane }) => lane === options.here);
  }

  /** Opens and runs all fragments here to their end. */
  async run(): Promise<FragmentSetResult> {
    const { run, host, addresses, here } = this.#options;
    const specs = this.#fragments.map((fragment) =>
      specOf(this.#cut, fragment, {
        restored: undefined,
        keepsState: false,
        addressOf: ({ lane }) => (lane === here ? undefined : addresses[lane]),
      }),
    );
    await host.deploy(run, specs, {
      acknowledged: () => undefined,
      ended: (fragment, { progress }) => {
        this.#ended.set(fragment, progress);
        if (this.#ended.size === specs.length) this.#over.resolve();
      },
      failed: (_, error) => {
        this.#failures.push(error);
        void this.close();
      },
    });
    host.start(run);
    if (specs.length === 0) this.#over.resolve();
    await this.#over.promise;
    await host.stop(run);
    if (this.#failures.length > 0) throw causeOf(this.#failures);
    return this.#result();
  }

  async close(): Promise<void> {
    await this.#options.host.stop(this.#options.run);
    this.#over.resolve();
  }

  #result(): FragmentSetResult {
    const keyed = this.#fragments.filter(({ stage }) => stage.isParallel);
    return {
      rowsCrossed: sumProgress([...this.#ended.values()]).rowsReceived.remote,
      keyedRows: Object.fromEntries(
        keyed.map(({ name }) => [name, this.#ended.get(name)?.rowsReceived.all ?? 0]),
      ),
    };
  }
}
