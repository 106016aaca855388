/**
 * The fragments of a query that run here, out of those at all its places: the others are in other
 * processes, which compute the same placement from the same plan. When a fragment fails, those
 * here are closed; the others notice by their edges.
 */
import type { Clock } from "../../../../ground/kernel/clock.ts";
import { DialectError, type Plan } from "../../language/core/index.ts";
import type { Connectors } from "../core/connectors.ts";
import type { OutEdge } from "../core/edge.ts";
import type { EdgeHub, EdgeName } from "../exchange/edge-hub.ts";
import { FragmentHost } from "../host/fragment-host.ts";
import { type PlacedFragment, placeStages } from "./place-stages.ts";

export interface FragmentSetOptions {
  readonly query: string;
  readonly epoch: number;
  readonly plan: Plan;
  readonly placeCount: number;
  readonly isHere: (place: number) => boolean;
  readonly hub: EdgeHub;
  /** An edge to a fragment in another process. */
  readonly sendTo: (place: number, name: EdgeName) => OutEdge;
  readonly connectors: Connectors;
  readonly clock: Clock;
}

export interface FragmentSetResult {
  /** Rows that came from fragments of other places. */
  readonly rowsCrossed: number;
  /** Rows that each fragment with keys received, by its name. */
  readonly keyedRows: Readonly<Record<string, number>>;
}

export class FragmentSet {
  readonly #hosts: readonly { readonly placed: PlacedFragment; readonly host: FragmentHost }[];

  constructor(options: FragmentSetOptions) {
    const { query, epoch, hub, connectors, clock, isHere } = options;
    const placed = placeStages(options.plan, options.placeCount);
    const name = (exchange: number, from: PlacedFragment, to: PlacedFragment): EdgeName => ({
      query,
      epoch,
      exchange,
      from: from.name,
      to: to.name,
    });
    this.#hosts = placed.fragments
      .filter(({ place }) => isHere(place))
      .map((fragment) => ({
        placed: fragment,
        host: new FragmentHost({
          nodes: fragment.stage.nodes,
          settings: placed.plan.settings,
          connectors,
          clock,
          restored: undefined,
          exchanges: {
            out: (exchange) =>
              placed
                .receivers(exchange)
                .map((to) =>
                  isHere(to.place)
                    ? hub.send(name(exchange, fragment, to))
                    : options.sendTo(to.place, name(exchange, fragment, to)),
                ),
            in: (exchange) =>
              placed.senders(exchange).map((from) => ({
                ...hub.receive(name(exchange, from, fragment)),
                isRemote: from.place !== fragment.place,
              })),
            onCheckpoint: () => undefined,
          },
        }),
      }));
  }

  /** Opens and runs all fragments here to their end. */
  async run(): Promise<FragmentSetResult> {
    try {
      for (const { host } of this.#hosts) await host.open();
      await this.#runAll();
    } finally {
      await this.close();
    }
    const keyed = this.#hosts.filter(({ placed }) => placed.stage.isParallel);
    return {
      rowsCrossed: this.#hosts.reduce((sum, { host }) => sum + host.rowsReceived.remote, 0),
      keyedRows: Object.fromEntries(
        keyed.map(({ placed, host }) => [placed.name, host.rowsReceived.all]),
      ),
    };
  }

  /** One failure ends all; the others' complaints about it are not the cause. */
  async #runAll(): Promise<void> {
    const failures: unknown[] = [];
    await Promise.all(
      this.#hosts.map(({ host }) =>
        host.run().catch(async (thrown: unknown) => {
          failures.push(thrown);
          await this.close();
        }),
      ),
    );
    if (failures.length > 0) throw causeOf(failures);
  }

  async close(): Promise<void> {
    await Promise.all(this.#hosts.map(({ host }) => host.close()));
  }
}

function causeOf(failures: readonly unknown[]): unknown {
  const isEffect = (failure: unknown): boolean =>
    failure instanceof DialectError && failure.number === 4001;
  return failures.find((failure) => !isEffect(failure)) ?? failures[0];
}
