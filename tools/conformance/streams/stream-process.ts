/** A process that runs the fragments of one place, for the suite over two processes. */
import { realClock } from "../../../src/ground/kernel/node/real-clock.ts";
import { servePeer } from "../../../src/ground/threads/index.ts";
import { type Plan, translateDialectError } from "../../../src/kinds/stream/language/core/index.ts";
import {
  createLocalConnectors,
  EdgeHub,
  ExchangeClient,
  FragmentSet,
  type FragmentSetResult,
  HereHost,
  openExchangePort,
  unlimitedMemory,
} from "../../../src/kinds/stream/run/index.ts";

export interface PlacedRun {
  readonly query: string;
  readonly plan: Plan;
  readonly place: number;
  /** The exchange ports of all places. */
  readonly addresses: readonly string[];
  readonly testdata: string;
}

export interface StreamProcess {
  readonly requests: {
    address(none: undefined): string;
    run(run: PlacedRun): FragmentSetResult;
    /** Ends a query at once. */
    end(query: string): undefined;
    /** The CPU time of all threads so far. */
    cpuMs(none: undefined): number;
  };
  readonly notes: Record<never, never>;
}

servePeer<StreamProcess, { readonly token: string }>(async ({ token }) => {
  const hub = new EdgeHub();
  const port = await openExchangePort(hub, token);
  const headers = { authorization: `Bearer ${token}` };
  const client = new ExchangeClient({ headers, clock: realClock });
  const running = new Map<string, FragmentSet>();
  return {
    requests: {
      address: () => port.address,
      run: async ({ query, plan, place, addresses, testdata }) => {
        const places = { sourceDir: testdata, sinkDir: testdata, print: () => undefined };
        const host = new HereHost({
          hub,
          sendTo: (address, name) => client.send(address, name),
          clock: realClock,
          connectors: createLocalConnectors(places),
          memory: unlimitedMemory(),
        });
        const set = new FragmentSet({
          run: { query, epoch: 1 },
          plan,
          addresses,
          here: place,
          host,
        });
        running.set(query, set);
        try {
          return await set.run();
        } catch (thrown) {
          throw translateDialectError(thrown);
        } finally {
          running.delete(query);
        }
      },
      end: async (query) => {
        await running.get(query)?.close();
        return undefined;
      },
      cpuMs: () => {
        const { user, system } = process.cpuUsage();
        return (user + system) / 1000;
      },
    },
    notes: {},
    close: async () => {
      client.close();
      await port.close();
    },
  };
});
